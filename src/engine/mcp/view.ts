import type { Clock } from '../../base/clock.ts';
import { mcpConfigOf, untriedMcpState } from '../../domain/mcp.ts';
import type { McpServer, McpState } from '../../domain/mcp.ts';
import { isCrashLooping } from '../../domain/mcp-restart.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { Told } from './health-board.ts';
import type { Supervisor } from './supervisor.ts';

/** A server as it is now, told by who looks after it; by another server of ours only what that has written down. */
export function viewOf(
  workspace: Workspace,
  supervisor: Supervisor | undefined,
  known: McpState | undefined,
  clock: Clock,
): McpServer {
  const state = supervisor?.state ?? known ?? untriedMcpState;
  const performance = supervisor?.performance;
  const told = isAtRest(workspace) ? atRest(workspace) : (supervisor?.board.told ?? elsewhere);
  const bridge = performance?.bridge;
  return {
    ...{ workspace, state, config: mcpConfigOf(workspace) },
    health: {
      ...told,
      crashLooping: isCrashLooping(state, clock.now()),
      lastHeardAt: performance?.lastHeardAt ?? null,
    },
    inFlight: bridge?.inFlight ?? 0,
    clients: bridge?.clients ?? 0,
    strayLines: bridge?.strayLines ?? 0,
  };
}

/** Known from the row alone, before its supervisor has looked at it. */
function isAtRest({ status, desiredState }: Workspace): boolean {
  return status === 'stopped' && desiredState === 'stopped';
}

function atRest({ statusReason: reason }: Workspace): Told {
  return { state: 'stopped', reason, nextStartAt: null };
}

const elsewhere = {
  state: 'unavailable',
  reason: 'another server on the same database looks after it',
  nextStartAt: null,
} as const;
