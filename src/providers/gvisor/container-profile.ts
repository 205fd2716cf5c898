import type { ProviderCapabilities } from '../../domain/provider.ts';

/** What sets the providers that run containers on one engine apart. */
export interface ContainerProfile {
  /** The provider's name; containers and volumes carry it. */
  readonly provider: string;
  readonly isolation: ProviderCapabilities['isolation'];
  /** The OCI runtime's name as the engine knows it; undefined: the engine's own choice. */
  readonly runtime: string | undefined;
  /**
   * Whose kernel counts memory and processes. `guest`: the sandbox has one of its own, which sees only its
   * processes, and the engine's limits would end all of it. `host`: the engine's limits hit single processes.
   */
  readonly kernel: 'guest' | 'host';
  /** Whether it sweeps what all of them share; one of them does. */
  readonly sweeps: boolean;
  /** Why no sandbox may be started. Those that run can be used, stopped and destroyed all the same. */
  readonly refusal?: { readonly reason: string; readonly remedy: string };
}

/** The name that containers and volumes without one belong to. */
export const gvisorName = 'gvisor';

export function gvisorProfile(runtime: string): ContainerProfile {
  return { provider: gvisorName, isolation: 'gvisor', runtime, kernel: 'guest', sweeps: true };
}

/** Plain containers: they share the host's kernel, so they are the last resort and need the operator's word. */
export function plainProfile(allowed: boolean): ContainerProfile {
  return {
    provider: 'docker',
    isolation: 'container',
    runtime: undefined,
    kernel: 'host',
    sweeps: false,
    ...(!allowed && { refusal: notAllowed }),
  };
}

const notAllowed = {
  reason:
    'plain containers are not a sandbox; allowed only by WORKSPACE_ALLOW_UNSANDBOXED=true on the server',
  remedy:
    'Use gVisor. Where that cannot be had and what runs in workspaces is trusted, start the server with ' +
    'WORKSPACE_ALLOW_UNSANDBOXED=true.',
};
