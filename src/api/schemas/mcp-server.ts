import { z } from 'zod';
import { restartPolicies } from '../../domain/mcp-config.ts';
import { mcpHealthStates } from '../../domain/mcp.ts';
import type { McpIntroduction, McpServer } from '../../domain/mcp.ts';
import { desiredStates, networkModes, workspaceStatuses } from '../../domain/workspace.ts';
import type { WorkspaceUse } from '../../engine/engine.ts';
import { mcpName } from './mcp-ref.ts';
import { id, timestamp } from './text.ts';
import { presentLimits, presentedLimits } from './workspace.ts';

const health = z.object({
  state: z.enum(mcpHealthStates),
  reason: z.string().nullable(),
  crash_looping: z
    .boolean()
    .describe('More than three crashes within a minute, and not stable since.'),
  next_start_at: timestamp.nullable(),
  last_heard_at: timestamp.nullable().describe('When it last answered anything.'),
});

const introduction = z.object({
  protocol_version: z.string().describe('The revision that is spoken with it.'),
  server_info: z.looseObject({ name: z.string(), version: z.string() }),
  capabilities: z.record(z.string(), z.unknown()),
  instructions: z.string().nullable(),
});

const usage = z.object({
  cpu_percent: z.number().nullable().describe('Of one core, over the last moments.'),
  memory_bytes: z.int().nullable(),
  disk_bytes: z.int().nullable(),
  processes: z.int().nullable(),
});

export const mcpServer = z
  .object({
    id,
    name: mcpName,
    owner: z.string().describe('The id of the token that registered it.'),
    image: z.string(),
    provider: z.string(),
    status: z
      .enum(workspaceStatuses)
      .describe('Of its sandbox; `health` tells how its program is.'),
    status_reason: z.string().nullable(),
    desired_state: z.enum(desiredStates).describe('What somebody stopped stays stopped.'),
    network: z.enum(networkModes),
    resource_limits: presentedLimits,
    restart_policy: z.enum(restartPolicies),
    command: z.string().nullable().describe("Null: the image's own entry point."),
    args: z.array(z.string()).nullable().describe("Null: the image's own arguments."),
    workdir: z.string().nullable().describe("Null: the image's own."),
    stdio_bridge: z.boolean(),
    port: z.int().nullable(),
    path: z.string().nullable(),
    volumes: z.array(z.string()),
    shared: z.boolean(),
    max_in_flight: z.int(),
    initialize_timeout_ms: z.int(),
    created_at: timestamp,
    health,
    uptime_seconds: z.int().nullable().describe('Of its program; null: it does not run.'),
    restarts: z.int().describe('Since it was registered, or restarted by somebody.'),
    last_exit: z
      .object({ exit_code: z.int(), signal: z.string().nullable(), at: timestamp })
      .nullable(),
    introduction: introduction.nullable().describe('Null: it has not introduced itself yet.'),
    in_flight: z.int().describe('Calls that it has now.'),
    clients: z.int(),
    stray_lines: z.int().describe('What it wrote to its standard output that was no message.'),
    usage: usage.nullable().describe('Null: it cannot be told now, or not in a list.'),
    metadata: z.record(z.string(), z.unknown()),
    url: z.string().describe('Where MCP clients reach it, on this server.'),
  })
  .meta({ id: 'McpServer' });

export const mcpServerList = z
  .object({ items: z.array(mcpServer).describe('Oldest first.') })
  .meta({ id: 'McpServerList' });

type Presented = z.output<typeof mcpServer>;

/** Its environment may hold secrets and stays inside. */
export function presentMcpServer(from: McpServer, now: Date, use?: WorkspaceUse): Presented {
  const { workspace, config, state } = from;
  const { transport } = config;
  return {
    id: workspace.id,
    name: config.name,
    owner: workspace.owner,
    image: workspace.image,
    provider: workspace.provider,
    status: workspace.status,
    status_reason: workspace.statusReason,
    desired_state: workspace.desiredState,
    network: workspace.network,
    resource_limits: presentLimits(workspace.resourceLimits),
    restart_policy: config.restartPolicy,
    command: config.command,
    args: config.args && [...config.args],
    workdir: config.workdir,
    stdio_bridge: transport.kind === 'stdio',
    port: transport.kind === 'http' ? transport.port : null,
    path: transport.kind === 'http' ? transport.path : null,
    volumes: [...config.volumes],
    shared: config.shared,
    max_in_flight: config.maxInFlight,
    initialize_timeout_ms: config.initializeTimeoutMs,
    created_at: workspace.createdAt.toISOString(),
    health: presentHealth(from),
    uptime_seconds: uptimeOf(from, now),
    restarts: state.restarts,
    last_exit: presentExit(from),
    introduction: state.run?.introduction ? presentIntroduction(state.run.introduction) : null,
    in_flight: from.inFlight,
    clients: from.clients,
    stray_lines: from.strayLines,
    usage: use?.stats ? presentUsage(use) : null,
    metadata: workspace.metadata,
    url: `/api/v1/mcp/servers/${workspace.id}/mcp`,
  };
}

function presentHealth({ health: from }: McpServer): Presented['health'] {
  return {
    state: from.state,
    reason: from.reason,
    crash_looping: from.crashLooping,
    next_start_at: from.nextStartAt?.toISOString() ?? null,
    last_heard_at: from.lastHeardAt?.toISOString() ?? null,
  };
}

const running: ReadonlySet<string> = new Set(['starting', 'healthy', 'unresponsive']);

function uptimeOf({ state, health: { state: healthState } }: McpServer, now: Date): number | null {
  if (!state.run || !running.has(healthState)) return null;
  return Math.max(0, Math.floor((now.getTime() - state.run.startedAt.getTime()) / 1000));
}

function presentExit({ state: { lastExit } }: McpServer): Presented['last_exit'] {
  return (
    lastExit && {
      exit_code: lastExit.exitCode,
      signal: lastExit.signal,
      at: lastExit.at.toISOString(),
    }
  );
}

function presentIntroduction(from: McpIntroduction): Presented['introduction'] {
  return {
    protocol_version: from.protocolVersion,
    server_info: { ...from.serverInfo },
    capabilities: { ...from.capabilities },
    instructions: from.instructions,
  };
}

function presentUsage({ stats, cpuPercent }: WorkspaceUse): Presented['usage'] {
  return {
    cpu_percent: cpuPercent === null ? null : Number(cpuPercent.toFixed(1)),
    memory_bytes: stats?.memoryBytes ?? null,
    disk_bytes: stats?.diskBytes ?? null,
    processes: stats?.processes ?? null,
  };
}
