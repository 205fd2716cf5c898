import type { BashEvent, BashRequest, BashResult } from '../domain/bash.ts';
import type { Caller } from '../domain/caller.ts';
import type { CreateWorkspaceRequest } from '../domain/create-request.ts';
import type { EventQuery, WorkspaceEvent } from '../domain/events.ts';
import type {
  AttachOptions,
  OutputEvent,
  ProcessInfo,
  ProcessSignal,
  TerminalSize,
} from '../domain/exec.ts';
import type { GitRequest, GitResult } from '../domain/git.ts';
import type { FileContent, FileInfo, SandboxStats } from '../domain/provider.ts';
import type { ProviderStatus } from '../domain/provider-status.ts';
import type { ReconcileOptions, ReconcileReport } from '../domain/reconcile.ts';
import type { GlobRequest, GlobResult, GrepRequest, GrepResult } from '../domain/search-tools.ts';
import type { SelectionExplained, SelectionRequest } from '../domain/selection.ts';
import type { WorkspacePage, WorkspaceQuery } from '../domain/store.ts';
import type {
  EditRequest,
  EditResult,
  ReadRequest,
  ReadResult,
  WriteRequest,
  WriteResult,
} from '../domain/tools.ts';
import type { PoolReport } from '../domain/warm-pool.ts';
import type { Workspace } from '../domain/workspace.ts';
import type { McpOperations } from './mcp/operations.ts';
import type { Tokens } from './tokens.ts';

/** What the HTTP layer sees of the moving parts. */
export interface Engine {
  readonly workspaces: WorkspaceOperations;
  readonly tools: ToolOperations;
  readonly processes: ProcessOperations;
  readonly terminals: TerminalOperations;
  readonly events: EventOperations;
  readonly stats: StatsOperations;
  readonly pool: PoolOperations;
  readonly upkeep: UpkeepOperations;
  readonly mcp: McpOperations;
  readonly tokens: Tokens;
}

export interface WorkspaceOperations {
  /** Status `ready`; or `creating`, at once, where the request says not to wait. */
  create(caller: Caller, request: CreateWorkspaceRequest, signal: AbortSignal): Promise<Workspace>;
  get(caller: Caller, id: string): Promise<Workspace>;
  list(caller: Caller, query: Omit<WorkspaceQuery, 'owner'>): Promise<WorkspacePage>;
  /**
   * Each of these waits until it is done and answers with the workspace. A second call while the first runs
   * waits for it and answers the same; a workspace that is there already is answered as it is; any other state
   * is a `wrong_state` that names it.
   */
  stop(caller: Caller, id: string): Promise<Workspace>;
  resume(caller: Caller, id: string): Promise<Workspace>;
  /** From `error` back to `ready`. */
  recover(caller: Caller, id: string): Promise<Workspace>;
  /** Legal in every state. A second call while the first runs waits for it and answers the same. */
  destroy(caller: Caller, id: string): Promise<void>;
  providerStatuses(): Promise<readonly ProviderStatus[]>;
  /** What a create like this would try now, in which order, and why not the others. Nothing is created. */
  explainSelection(request: SelectionRequest): Promise<SelectionExplained>;
  /** How often each provider was tried by a create, on this server since it started. */
  createAttempts(): readonly AttemptCount[];
}

export interface AttemptCount {
  readonly provider: string;
  /** `adopted`: a sandbox was waiting. */
  readonly result: 'created' | 'adopted' | 'failed';
  readonly count: number;
}

/** What a caller can do inside a workspace: the same on every provider. */
export interface ToolOperations {
  /** Streams the command's output; the last event is its result. `signal` aborting ends the command. */
  bash(
    caller: Caller,
    id: string,
    request: BashRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterable<BashEvent>>;
  /** The same, answered once at the end. */
  bashResult(
    caller: Caller,
    id: string,
    request: BashRequest,
    signal: AbortSignal,
  ): Promise<BashResult>;
  glob(caller: Caller, id: string, request: GlobRequest, signal: AbortSignal): Promise<GlobResult>;
  grep(caller: Caller, id: string, request: GrepRequest, signal: AbortSignal): Promise<GrepResult>;
  /** What git refuses is `git_failed`, with what it said. */
  git(caller: Caller, id: string, request: GitRequest, signal: AbortSignal): Promise<GitResult>;
  readFile(caller: Caller, id: string, path: string, signal: AbortSignal): Promise<FileContent>;
  writeFile(
    caller: Caller,
    id: string,
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<FileInfo>;
  read(caller: Caller, id: string, request: ReadRequest, signal: AbortSignal): Promise<ReadResult>;
  write(
    caller: Caller,
    id: string,
    request: WriteRequest,
    signal: AbortSignal,
  ): Promise<WriteResult>;
  /** Somebody else's change, made meanwhile, is never lost; one that keeps getting in the way is `file_changed`. */
  edit(caller: Caller, id: string, request: EditRequest, signal: AbortSignal): Promise<EditResult>;
}

/** A command to start and leave: it goes on when the caller, the connection and the server are gone. */
export interface DetachedRequest {
  readonly command: string;
  readonly workdir?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Every command of a workspace, those that `bash` runs included. */
export interface ProcessOperations {
  start(
    caller: Caller,
    id: string,
    request: DetachedRequest,
    signal: AbortSignal,
  ): Promise<ProcessInfo>;
  list(caller: Caller, id: string, signal: AbortSignal): Promise<readonly ProcessInfo[]>;
  get(caller: Caller, id: string, processId: string, signal: AbortSignal): Promise<ProcessInfo>;
  attach(
    caller: Caller,
    id: string,
    processId: string,
    options: AttachOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<OutputEvent>>;
  signal(
    caller: Caller,
    id: string,
    processId: string,
    name: ProcessSignal,
    signal: AbortSignal,
  ): Promise<void>;
}

/** What to run in a new terminal; without a command, the image's shell. */
export interface TerminalRequest {
  readonly command?: string;
  readonly workdir?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly size: TerminalSize;
}

/** Where to take up a terminal, and on how large a screen: the newest to attach decides its size. */
export interface TerminalPlace {
  /** How many bytes of its output the caller has already. */
  readonly offset: number;
  readonly size: TerminalSize;
}

/** A terminal that somebody is attached to, until its events end or the signal it was attached with aborts. */
export interface Terminal {
  readonly processId: string;
  readonly pid: number;
  readonly offset: number;
  readonly events: AsyncIterable<OutputEvent>;
  input(data: Uint8Array): Promise<void>;
  resize(size: TerminalSize): Promise<void>;
  signal(name: ProcessSignal): Promise<void>;
}

/** Only where the provider has `features.terminals`; otherwise `unsupported`. */
export interface TerminalOperations {
  open(
    caller: Caller,
    id: string,
    request: TerminalRequest,
    signal: AbortSignal,
  ): Promise<Terminal>;
  /** Of a process that has no terminal: `wrong_state`. */
  attach(
    caller: Caller,
    id: string,
    processId: string,
    place: TerminalPlace,
    signal: AbortSignal,
  ): Promise<Terminal>;
}

/** An agent sees the events of its own workspaces, an admin all. */
export interface EventOperations {
  list(caller: Caller, query: Omit<EventQuery, 'owner'>): Promise<readonly WorkspaceEvent[]>;
  /** What comes after `after` (without it: from now on), in order and without end, until `signal` aborts. */
  follow(
    caller: Caller,
    query: Omit<EventQuery, 'owner' | 'limit'>,
    signal: AbortSignal,
  ): AsyncIterable<WorkspaceEvent>;
}

/** What a workspace uses now; its limits are in the workspace. */
export interface WorkspaceUse {
  readonly workspace: Workspace;
  /** Null where nothing can be told; `reason` says why. */
  readonly stats: SandboxStats | null;
  /** Of one core, over the last moments. Null while it does not run. */
  readonly cpuPercent: number | null;
  readonly reason?: string;
}

export interface StatsReport {
  /** Newest first. */
  readonly items: readonly WorkspaceUse[];
  /** How many more there are. */
  readonly leftOut: number;
}

/** Of workspaces that are ready or stopped. Looking is not a use. Ends within seconds, whatever hangs. */
export interface StatsOperations {
  get(caller: Caller, id: string, signal: AbortSignal): Promise<WorkspaceUse>;
  /** Of all that the caller may see; one that cannot be measured does not fail the others. */
  list(caller: Caller, signal: AbortSignal): Promise<StatsReport>;
}

/** Sandboxes that are made before anybody asks for one. */
export interface PoolOperations {
  report(): Promise<PoolReport>;
  /** Takes effect on all servers within a minute; only an admin may ask. An unknown name is `pool_not_found`. */
  resize(caller: Caller, name: string, size: number): Promise<PoolReport>;
}

export interface UpkeepOperations {
  /** Compares rows with reality now; only an admin may ask. */
  reconcile(caller: Caller, options: ReconcileOptions): Promise<ReconcileReport>;
}
