import { Counter, Gauge, Registry } from 'prom-client';
import { mcpHealthStates } from '../domain/mcp.ts';
import type { McpServer } from '../domain/mcp.ts';

export interface McpFigures {
  readonly servers: readonly McpServer[];
  readonly calls: ReadonlyMap<string, number>;
  readonly sessions: number;
  readonly passedOn: number;
}

/** Hosted servers, in the Prometheus text format; of its own registry each time, so that one that went has no line. */
export async function mcpMetrics(figures: McpFigures): Promise<string> {
  const { servers, calls, sessions, passedOn } = figures;
  const registry = new Registry();
  const registers = [registry];
  const health = new Gauge({
    name: 'emergent_mcp_servers',
    help: 'Hosted MCP servers by how they are.',
    labelNames: ['health'],
    registers,
  });
  for (const state of mcpHealthStates) {
    health.set({ health: state }, servers.filter((one) => one.health.state === state).length);
  }
  const restarts = new Counter({
    name: 'emergent_mcp_restarts_total',
    help: 'Restarts after a program ended by itself, since somebody last started the server.',
    labelNames: ['workspace', 'server'],
    registers,
  });
  for (const { workspace, config, state } of servers) {
    restarts.inc({ workspace: workspace.id, server: config.name }, state.restarts);
  }
  const called = new Counter({
    name: 'emergent_mcp_calls_total',
    help: 'Tools of hosted servers that were called through this server, by what came of it.',
    labelNames: ['result'],
    registers,
  });
  // A counter that is there from the beginning can be told from one that never counts.
  called.inc({ result: 'ok' }, 0);
  for (const [result, count] of calls) called.inc({ result }, count);
  new Gauge({
    name: 'emergent_mcp_sessions',
    help: 'Sessions of MCP clients that this server holds.',
    registers,
  }).set(sessions);
  new Counter({
    name: 'emergent_mcp_passed_on_total',
    help: 'Requests for hosted servers that were passed on to the server of ours that hosts them.',
    registers,
  }).inc(passedOn);
  return registry.metrics();
}
