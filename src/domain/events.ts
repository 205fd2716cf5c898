import type { SandboxIncident } from './provider.ts';
import type { WorkspaceStatus } from './workspace.ts';

/** What is kept of a command line or a path. */
export const keptCharacters = 200;

/** Operations inside a workspace that leave an event. */
export const toolNames = [
  'bash',
  'read',
  'write',
  'edit',
  'glob',
  'grep',
  'git',
  'terminal',
  'read_file',
  'write_file',
  'start_process',
  'attach_process',
  'signal_process',
  /** A call of a hosted MCP server's tool; its subject is the tool. */
  'mcp_call',
] as const;
export type ToolName = (typeof toolNames)[number];

/**
 * One event for every change of a workspace's status, every incident in it, every finished tool call, and for what
 * happens to the server's own parts.
 */
export type EventType =
  | `workspace.${WorkspaceStatus | 'destroyed'}`
  | `workspace.${SandboxIncident['kind']}`
  | `tool.${ToolName}`
  | `mcp.${McpEventKind}`
  | NoticeType;

/**
 * What happens to the program of a hosted MCP server: `started` and introduced · `exited` by itself with 0 or as it was
 * told · `crashed` · `crash_loop` more than three times within a minute, a health warning · `unresponsive` silent for
 * too long, a health warning · `responsive` it answers again.
 */
export const mcpEventKinds = [
  'started',
  'exited',
  'crashed',
  'crash_loop',
  'unresponsive',
  'responsive',
] as const;
export type McpEventKind = (typeof mcpEventKinds)[number];

/** Belongs to the server's workspace and is seen by whoever sees that. */
export interface McpEvent {
  readonly workspaceId: string;
  readonly kind: McpEventKind;
  readonly at: Date;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** A provider's health is another than before; a pool was given another size. */
export const noticeTypes = [
  'provider.healthy',
  'provider.unhealthy',
  'provider.absent',
  'pool.resized',
] as const;
export type NoticeType = (typeof noticeTypes)[number];

/** What happened to a part of the server; only admins see it. */
export interface Notice {
  readonly type: NoticeType;
  readonly actor: Actor;
  readonly at: Date;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Whose the events are that belong to no workspace. */
export const noticeOwner = 'server';

/**
 * One thing that happened. Events outlive their workspace. Contents (output, files, environments) are never
 * part of one; commands and paths are cut to `keptCharacters`.
 */
export interface WorkspaceEvent {
  /** Rises; a place in the log to go on from. */
  readonly id: number;
  readonly at: Date;
  /** Null: of the server itself. */
  readonly workspaceId: string | null;
  /** The workspace's owner: who may see this. */
  readonly owner: string;
  /** Who did it: a token's id, or a part of the server. */
  readonly actor: Actor;
  readonly type: EventType;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** A token's id, or one of the parts of the server that act by themselves. */
export type Actor = string;
export const actors = {
  reaper: 'reaper',
  reconciler: 'reconciler',
  sandbox: 'sandbox',
  warmPool: 'warm-pool',
  healthMonitor: 'health-monitor',
  mcpHost: 'mcp-host',
} as const;

/** A tool call, told when it has ended. */
export interface ToolCall {
  readonly workspaceId: string;
  readonly owner: string;
  readonly actor: Actor;
  readonly tool: ToolName;
  readonly at: Date;
  readonly detail: {
    /** The command, or the path. */
    readonly subject: string;
    readonly duration_ms: number;
    /** "ok", or the code of the error that the caller got. */
    readonly result: string;
    readonly exit_code?: number;
    readonly process_id?: string;
  };
}

export interface EventQuery {
  readonly owner?: string;
  readonly workspaceId?: string;
  /** Exact types; none: all. */
  readonly types?: readonly EventType[];
  /** Only those behind this id, oldest first; without it the newest, newest first. */
  readonly after?: number;
  readonly limit: number;
}

export function cut(subject: string): string {
  return subject.length <= keptCharacters ? subject : `${subject.slice(0, keptCharacters - 1)}…`;
}
