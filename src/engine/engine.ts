import type { BashEvent, BashRequest, BashResult } from '../domain/bash.ts';
import type { Caller } from '../domain/caller.ts';
import type { CreateWorkspaceRequest } from '../domain/create-request.ts';
import type { EventQuery, WorkspaceEvent } from '../domain/events.ts';
import type { AttachOptions, OutputEvent, ProcessInfo, ProcessSignal } from '../domain/exec.ts';
import type { FileContent, FileInfo } from '../domain/provider.ts';
import type { ProviderStatus } from '../domain/provider-status.ts';
import type { ReconcileOptions, ReconcileReport } from '../domain/reconcile.ts';
import type { WorkspacePage, WorkspaceQuery } from '../domain/store.ts';
import type { Workspace } from '../domain/workspace.ts';
import type { Tokens } from './tokens.ts';

/** What the HTTP layer sees of the moving parts. */
export interface Engine {
  readonly workspaces: WorkspaceOperations;
  readonly tools: ToolOperations;
  readonly processes: ProcessOperations;
  readonly events: EventOperations;
  readonly upkeep: UpkeepOperations;
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
  readFile(caller: Caller, id: string, path: string, signal: AbortSignal): Promise<FileContent>;
  writeFile(
    caller: Caller,
    id: string,
    path: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<FileInfo>;
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

export interface UpkeepOperations {
  /** Compares rows with reality now; only an admin may ask. */
  reconcile(caller: Caller, options: ReconcileOptions): Promise<ReconcileReport>;
}
