import type { ExecProcess, ExecRequest } from './exec.ts';
import type { ResourceLimits } from './limits.ts';
import type { ContainerType, NetworkMode } from './workspace.ts';

/** Everything a provider needs to make one sandbox. All names are decided before anything is created. */
export interface SandboxSpec {
  readonly workspaceId: string;
  /** The provider's own name for the sandbox; the row holds it before the sandbox exists. */
  readonly sandboxName: string;
  readonly containerType: ContainerType;
  readonly image: string;
  readonly limits: ResourceLimits;
  readonly network: NetworkMode;
  readonly env: Readonly<Record<string, string>>;
}

export interface CreatedSandbox {
  /** What was really granted; a provider may round or clamp what was asked. */
  readonly limits: ResourceLimits;
  /** Facts for the workspace's metadata: isolation, platform, disk mode, step times. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Names a sandbox that a row knows of; it may no longer exist. */
export interface SandboxRef {
  readonly workspaceId: string;
  readonly sandboxName: string;
}

export interface FileInfo {
  readonly path: string;
  readonly size: number;
}

/** The bytes are read lazily; whoever gets this must consume or cancel `content`. */
export interface FileContent {
  readonly path: string;
  /** Null where only reading tells, as for files in /proc. */
  readonly size: number | null;
  readonly content: AsyncIterable<Uint8Array>;
}

/**
 * "Does not apply here" differs from "is broken": `absent` needs no alarm, `unhealthy` does. `details` holds
 * structured facts (engine version, platform); `remedy` is what a person should do.
 */
export type ProviderHealth =
  | { readonly state: 'healthy'; readonly details: Readonly<Record<string, unknown>> }
  | {
      readonly state: 'unhealthy' | 'absent';
      readonly reason: string;
      readonly remedy: string;
      readonly details: Readonly<Record<string, unknown>>;
    };

export interface ProviderCapabilities {
  readonly isolation: 'microvm' | 'gvisor' | 'container' | 'none';
  readonly features: {
    readonly persistence: boolean;
    readonly snapshots: boolean;
    readonly warmPool: boolean;
  };
  readonly requires: readonly ('kvm' | 'docker' | 'network')[];
  /** Median of the starts measured by this process; null until one was measured. */
  readonly startupMs: number | null;
  /** What is free now; null where the provider cannot tell. */
  readonly available: { readonly cpu: number; readonly memoryBytes: number } | null;
}

/**
 * A back end that runs sandboxes. Every method that leaves the process honours `signal` and ends in bounded
 * time by itself. `destroy` is idempotent: destroying what is gone succeeds. Failures are EmergentErrors.
 */
export interface WorkspaceProvider extends AsyncDisposable {
  readonly name: string;
  /** Leaves nothing behind when it fails. */
  create(spec: SandboxSpec, signal: AbortSignal): Promise<CreatedSandbox>;
  destroy(ref: SandboxRef, signal: AbortSignal): Promise<void>;
  /** The filesystem survives, processes do not. */
  stop(ref: SandboxRef, signal: AbortSignal): Promise<void>;
  resume(ref: SandboxRef, spec: SandboxSpec, signal: AbortSignal): Promise<CreatedSandbox>;
  /** `signal` bounds the start only; the running process is ended through the returned handle. */
  exec(ref: SandboxRef, request: ExecRequest, signal: AbortSignal): Promise<ExecProcess>;
  readFile(ref: SandboxRef, path: string, signal: AbortSignal): Promise<FileContent>;
  /** Atomic: the old file or the new one, never a part. Parents are made. */
  writeFile(
    ref: SandboxRef,
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<FileInfo>;
  health(signal: AbortSignal): Promise<ProviderHealth>;
  capabilities(): Promise<ProviderCapabilities>;
}
