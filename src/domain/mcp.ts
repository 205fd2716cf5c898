import { EmergentError } from './errors.ts';
import type { McpServerConfig } from './mcp-config.ts';
import type { NetworkMode, Workspace } from './workspace.ts';

/** What a caller asks for; what is left out takes the default. */
export interface RegisterMcpServer {
  readonly config: McpServerConfig;
  readonly image?: string;
  /** A provider's name, or "auto". */
  readonly provider: string;
  readonly env: Readonly<Record<string, string>>;
  readonly limits: {
    readonly cpu?: number;
    readonly memoryBytes?: number;
    readonly diskBytes?: number;
  };
  readonly network: NetworkMode;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** How a program ended. */
export interface McpExit {
  readonly exitCode: number;
  readonly signal: string | null;
  readonly at: Date;
}

/** Who the server says it is, from its answer to `initialize` or `server/discover`. Untrusted, bounded. */
export interface McpIntroduction {
  /** The revision that is spoken with the program. */
  readonly protocolVersion: string;
  readonly serverInfo: { readonly name: string; readonly version: string } & Readonly<
    Record<string, unknown>
  >;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly instructions: string | null;
}

/**
 * What must outlive a server of ours about one program: enough to go on with it, alive, after a restart. Written
 * before the program is started, so one that runs is never unknown.
 */
export interface McpRun {
  /** The id of its process in the sandbox. */
  readonly processId: string;
  /** Null: it has not introduced itself yet. */
  readonly introduction: McpIntroduction | null;
  readonly startedAt: Date;
}

/** The history that the restart policy decides by. */
export interface McpHistory {
  /** Since it was registered, or restarted by somebody. */
  readonly restarts: number;
  /** When it crashed, oldest first; only those that may still matter. */
  readonly crashes: readonly Date[];
  /** How many restarts in a row were put off, the last one included; 0: none was. */
  readonly backOffs: number;
  readonly lastExit: McpExit | null;
}

export interface McpState extends McpHistory {
  /** Null: nothing was started since the sandbox was made. */
  readonly run: McpRun | null;
}

export const untriedMcpState: McpState = {
  restarts: 0,
  crashes: [],
  backOffs: 0,
  lastExit: null,
  run: null,
};

/**
 * How it is now, told beside the row's status:
 * `starting` its program was started and has not introduced itself · `healthy` it answers · `unresponsive` it has been
 * silent for too long · `waiting` it has crashed and is started again at `nextStartAt` · `ended` it has ended and its
 * policy leaves it so · `stopped` as somebody wanted · `unavailable` its sandbox cannot be had now.
 */
export const mcpHealthStates = [
  'starting',
  'healthy',
  'unresponsive',
  'waiting',
  'ended',
  'stopped',
  'unavailable',
] as const;
export type McpHealthState = (typeof mcpHealthStates)[number];

export interface McpHealth {
  readonly state: McpHealthState;
  /** For people; null while there is nothing to say. */
  readonly reason: string | null;
  /** More than three crashes within a minute, and not stable since. */
  readonly crashLooping: boolean;
  readonly nextStartAt: Date | null;
  /** When it last answered anything. */
  readonly lastHeardAt: Date | null;
}

/** A hosted server as callers see it. */
export interface McpServer {
  readonly workspace: Workspace;
  readonly config: McpServerConfig;
  readonly state: McpState;
  readonly health: McpHealth;
  /** Calls that it has now, and clients that are attached. */
  readonly inFlight: number;
  readonly clients: number;
  /** What it wrote to its standard output that was no message, since it was started. */
  readonly strayLines: number;
}

/** A line that a server wrote, or that was written about it. */
export interface McpLogLine {
  /** Rises from 1, for as long as this server of ours knows it; a place to go on from. */
  readonly number: number;
  readonly at: Date;
  /** `stdout`: of one that speaks HTTP. `stray`: on its standard output, and no message. `host`: about it, not by it. */
  readonly stream: 'stdout' | 'stderr' | 'stray' | 'host';
  readonly text: string;
}

/** Files of a server that was deleted with the wish to keep them. One of the same owner and name gets them again. */
export interface KeptVolumes {
  /** The id that the server had, and the next one of this name has again. */
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly provider: string;
  readonly sandboxName: string;
  readonly paths: readonly string[];
  readonly keptAt: Date;
}

export function mcpConfigOf({ id, mcpConfig }: Workspace): McpServerConfig {
  if (mcpConfig) return mcpConfig;
  throw new EmergentError('mcp_server_not_found', `workspace ${id} is not an MCP server`);
}
