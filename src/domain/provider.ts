import type { Duplex } from 'node:stream';
import type { ExecProcess, ExecRequest } from './exec.ts';
import type { ResourceLimits } from './limits.ts';
import type { SandboxProcesses, SandboxRef } from './sandbox-processes.ts';
import type { ContainerType, NetworkMode } from './workspace.ts';

export type { SandboxRef } from './sandbox-processes.ts';

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
  /** Absolute paths, besides /workspace, whose files outlive the container and count against its disk. */
  readonly volumes?: readonly string[];
}

/** What an image is made to run, in its own words; empty where it says nothing. */
export interface ImageProgram {
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  /** Null: the image names none. */
  readonly workdir: string | null;
}

export interface CreatedSandbox {
  /** What was really granted; a provider may round or clamp what was asked. */
  readonly limits: ResourceLimits;
  /** Facts for the workspace's metadata: isolation, platform, disk mode, step times. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Where the provider runs images. */
  readonly program?: ImageProgram;
}

/** What takes long in making a sandbox, told as it goes on. */
export interface StartProgress {
  readonly step: 'pulling_image';
  /** For people: "pulling debian:12, 31 of 48 MB". */
  readonly message: string;
  readonly detail: Readonly<Record<string, string | number>>;
}

/** What really exists of one sandbox that carries this installation's labels. */
export interface FoundSandbox extends SandboxRef {
  readonly state: 'running' | 'stopped';
  /** Whether the files of /workspace are there; without them it cannot be resumed. */
  readonly hasFiles: boolean;
  /** When the oldest part of it was made. */
  readonly createdAt: Date;
  /** The parts by name, for people: "container emergent-…", "volume agent-workspace-…". */
  readonly parts: readonly string[];
  /** How it ended, where that is known and it is not running: "exited with code 137 at …". */
  readonly reason?: string;
}

/** Something shared that nobody uses any more, such as what an older version or a killed server left. */
export interface Leftover {
  readonly name: string;
  readonly why: string;
}

/** Time that commands get between SIGTERM and force, when a sandbox is stopped or destroyed. */
export const terminateGraceMs = 10_000;

export interface StopOptions {
  /** Instead of `terminateGraceMs`; at most ten minutes. */
  readonly graceMs?: number;
}

export interface DestroyOptions extends StopOptions {
  /** The files stay, those of its volumes and of /workspace: `resume` builds a sandbox on them again. */
  readonly keepFiles?: boolean;
}

export interface FileInfo {
  readonly path: string;
  readonly size: number;
}

export interface WrittenFile extends FileInfo {
  /** There was none at this path before. */
  readonly created: boolean;
}

/** The bytes are read lazily; whoever gets this must consume or cancel `content`. */
export interface FileContent {
  readonly path: string;
  /** Null where only reading tells, as for files in /proc. */
  readonly size: number | null;
  /** Another value means that the file has changed; null where that cannot be told, as for files in /proc. */
  readonly version: string | null;
  /**
   * Only where `ReadOptions.directories` asked for it: `content` is the names in a directory in the order of their
   * bytes, each with a NUL behind it; those of directories, and of links to directories, end in a slash.
   */
  readonly directory?: true;
  readonly content: AsyncIterable<Uint8Array>;
}

export interface ReadOptions {
  /** List directories too; without it one is `is_directory`. */
  readonly directories?: boolean;
}

export interface WriteOptions {
  /** Only over this version of the file; any other is `file_changed`. */
  readonly ifVersion?: string;
}

/** What a sandbox uses now. Null where it cannot be told. */
export interface SandboxStats {
  /** When the CPU time was read. */
  readonly at: Date;
  /** Nothing runs in it, so it was frozen until the next operation. */
  readonly frozen: boolean;
  /** Used since the sandbox started; two readings make a rate. */
  readonly cpuSeconds: number | null;
  /** What its processes use of `ResourceLimits.memoryBytes`. */
  readonly memoryBytes: number | null;
  /** What lies in /workspace, of `ResourceLimits.diskBytes`. */
  readonly diskBytes: number | null;
  /** Besides the agent. */
  readonly processes: number | null;
}

/** Something that happened in a sandbox by itself. */
export interface SandboxIncident {
  readonly workspaceId: string;
  /** `memory_exceeded`: a process was ended for it, the sandbox lives. */
  readonly kind: 'memory_exceeded' | 'disk_nearly_full';
  readonly at: Date;
  /** Such as the process and its size; from the sandbox, so bounded and not to be trusted. */
  readonly detail: Readonly<Record<string, string | number>>;
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
    /** Sandboxes can be made beforehand: `warm` is there. */
    readonly warmPool: boolean;
    /** Processes with an id can be listed, signalled and read again: `processes` is there. */
    readonly processes: boolean;
    /** Commands can have a terminal: `ExecRequest.pty`. */
    readonly terminals: boolean;
    /** The tools that need a program in the sandbox work: `toolProgram` is there. */
    readonly tools: boolean;
    /** Sandboxes can be listed, and so looked after: `list` is there. */
    readonly list: boolean;
    /** What they use can be told: `stats` is there. */
    readonly stats: boolean;
    /** Ports inside can be reached: `dial` is there. */
    readonly tunnels: boolean;
  };
  readonly requires: readonly ('kvm' | 'docker' | 'network')[];
  /** Median of the starts measured by this process; null until one was measured. */
  readonly startupMs: number | null;
  /** What is free now; null where the provider cannot tell. */
  readonly available: { readonly cpu: number; readonly memoryBytes: number } | null;
}

/** Sandboxes that are made before anybody asks for one, and wait. */
export interface WarmSandboxes {
  /**
   * What a sandbox made now by such a spec would be made of, as the image's id: one that was made of something else
   * is out of date. The same on every server that uses this back end.
   */
  fingerprint(spec: Pick<SandboxSpec, 'image'>, signal: AbortSignal): Promise<string>;
  /**
   * Has a running sandbox that nobody uses wait, so that `adopt` is quick: the way to it is open, and where the host
   * allows that it uses no CPU. Fails where it does not run or does not answer.
   */
  rest(ref: SandboxRef, signal: AbortSignal): Promise<void>;
  /**
   * `adopt` will probably follow in a moment: what takes time about waking up begins now. Returns at once and promises
   * nothing; a sandbox that nobody adopts then goes back to rest by itself.
   */
  rouse(ref: SandboxRef): void;
  /**
   * A sandbox that was waiting becomes the workspace of `spec`: awake, heard from, and with its environment. Fails
   * where it does not answer within a second or so; what is left of it is only good for `create` or `destroy`.
   */
  adopt(ref: SandboxRef, spec: SandboxSpec, signal: AbortSignal): Promise<void>;
}

/**
 * A back end that runs sandboxes. Every method that leaves the process honours `signal` and ends in bounded
 * time by itself. Failures are EmergentErrors.
 */
export interface WorkspaceProvider extends AsyncDisposable {
  readonly name: string;
  /** Leaves nothing behind when it fails. Replaces what an interrupted create of the same name left. */
  create(
    spec: SandboxSpec,
    signal: AbortSignal,
    onProgress?: (progress: StartProgress) => void,
  ): Promise<CreatedSandbox>;
  /**
   * Commands get SIGTERM and up to `terminateGraceMs`, and their readers how they ended; then everything goes
   * by force. Idempotent: destroying what is gone, or only half there, succeeds.
   */
  destroy(ref: SandboxRef, signal: AbortSignal, options?: DestroyOptions): Promise<void>;
  /** The filesystem survives; commands end as by `destroy`. Stopping what is stopped succeeds. */
  stop(ref: SandboxRef, signal: AbortSignal, options?: StopOptions): Promise<void>;
  /**
   * Runs again, on the same files; what runs already is left as it is. The sandbox is built anew from `spec`
   * where only the files are left; without those it is `files_lost`.
   */
  resume(
    ref: SandboxRef,
    spec: SandboxSpec,
    signal: AbortSignal,
    onProgress?: (progress: StartProgress) => void,
  ): Promise<CreatedSandbox>;
  /** `signal` bounds the start only; the running process is ended through the returned handle. */
  exec(ref: SandboxRef, request: ExecRequest, signal: AbortSignal): Promise<ExecProcess>;
  readFile(
    ref: SandboxRef,
    path: string,
    signal: AbortSignal,
    options?: ReadOptions,
  ): Promise<FileContent>;
  /** Atomic: the old file or the new one, never a part. Parents are made. */
  writeFile(
    ref: SandboxRef,
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    options?: WriteOptions,
  ): Promise<WrittenFile>;
  health(signal: AbortSignal): Promise<ProviderHealth>;
  capabilities(): Promise<ProviderCapabilities>;

  /** Declared by `features.stats`. Never thaws, starts or holds up a sandbox. */
  stats?(ref: SandboxRef, signal: AbortSignal): Promise<SandboxStats>;
  /** Declared by `features.tools`: to be run by `exec` with the name of a tool, in any image. */
  readonly toolProgram?: readonly [string, ...string[]];
  /** Declared by `features.processes`. */
  readonly processes?: SandboxProcesses;
  /**
   * Declared by `features.tunnels`. A byte stream to a TCP port on the sandbox's own loopback address, whatever its
   * network; `signal` bounds the dialling only. Nobody listening is `port_closed`.
   */
  dial?(ref: SandboxRef, port: number, signal: AbortSignal): Promise<Duplex>;
  /** Declared by `features.warmPool`. */
  readonly warm?: WarmSandboxes;
  /**
   * Declared by `features.list`. Every sandbox of this installation, whole or in parts. Fails rather than
   * leave one out: what is not in the answer is taken for gone.
   */
  list?(signal: AbortSignal): Promise<readonly FoundSandbox[]>;
  /**
   * What is left over outside of sandboxes; removes it unless told only to look. What a server may still be
   * using is left until it is old; `minAgeMs` makes that sooner.
   */
  sweep?(dryRun: boolean, signal: AbortSignal, minAgeMs?: number): Promise<readonly Leftover[]>;
}
