import { createHash } from 'node:crypto';
import type Docker from 'dockerode';
import { engineCall } from '../docker.ts';

const callMs = 10_000;

export interface EngineIdentity {
  /** Tells the engines of one host apart, in names of interfaces and chains: both have few characters. */
  readonly tag: string;
  readonly kernel: string;
}

/** By its data, too: engines that share their settings have the same id. */
export async function identify(docker: Docker, signal: AbortSignal): Promise<EngineIdentity> {
  const answer: unknown = await engineCall('asking who it is', callMs, () => docker.info(), signal);
  const info = answer as { ID?: string; DockerRootDir?: string; KernelVersion?: string };
  return {
    tag: tagOf(`${info.ID ?? ''} ${info.DockerRootDir ?? ''}`),
    kernel: info.KernelVersion ?? '',
  };
}

export function tagOf(identity: string): string {
  return createHash('sha256').update(identity).digest('hex').slice(0, 6);
}
