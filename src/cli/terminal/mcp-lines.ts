import type { McpServer } from '../http/mcp-types.ts';
import { shellWord } from '../remote/quote.ts';
import { oneLine } from './output.ts';
import { styledState } from './style.ts';
import { tableLines } from './table.ts';
import type { Column } from './table.ts';
import { readableSize, shortDuration } from './units.ts';

const columns: readonly Column<McpServer>[] = [
  { title: 'NAME', cell: (row) => row.name },
  {
    title: 'STATE',
    cell: stateOf,
    style: (text, row) => styledState(row.health.state, text, process.stdout),
  },
  { title: 'UPTIME', cell: uptimeOf },
  { title: 'RESTARTS', cell: (row) => String(row.restarts) },
  { title: 'CLIENTS', cell: (row) => String(row.clients) },
  { title: 'IMAGE', cell: (row) => row.image },
  { title: 'ID', cell: (row) => row.id },
];

/** A table of servers; below it why one is not as it should be. */
export function mcpServerLines(servers: readonly McpServer[]): string[] {
  const reasons = servers.flatMap(({ name, health: { reason } }) =>
    reason === null ? [] : [oneLine(`${name}: ${reason}`)],
  );
  return [...tableLines(columns, servers), ...reasons];
}

export function stateOf({ health: { state, crash_looping: looping } }: McpServer): string {
  return looping ? `${state} (crash loop)` : state;
}

/** Everything about one server. */
export function mcpFactLines(server: McpServer, url: string): string[] {
  const { health, resource_limits: limits, last_exit: exit, introduction: intro } = server;
  const facts: [string, string | null][] = [
    ['name', server.name],
    ['id', server.id],
    ['state', styledState(health.state, stateOf(server), process.stdout)],
    ['reason', health.reason],
    ['next start', health.next_start_at],
    ['last heard', health.last_heard_at],
    ['uptime', uptimeOf(server)],
    ['restarts', `${String(server.restarts)} (policy: ${server.restart_policy})`],
    ['last exit', exit && `${exitText(exit)} at ${exit.at}`],
    ['server', intro && `${intro.server_info.name} ${intro.server_info.version}`],
    ['protocol', intro?.protocol_version ?? null],
    ['offers', intro && Object.keys(intro.capabilities).join(', ')],
    ['uses', usageOf(server)],
    ['clients', `${String(server.clients)}, calls in flight: ${inFlight(server)}`],
    ['stray lines', server.stray_lines > 0 ? String(server.stray_lines) : null],
    ['image', server.image],
    ['command', commandOf(server)],
    ['workdir', server.workdir],
    ['speaks', transportOf(server)],
    ['url', url],
    ['network', server.network],
    ['limits', `${String(limits.cpu)} CPU, ${limits.memory} memory, ${limits.disk} disk`],
    ['volumes', server.volumes.join(', ') || null],
    ['provider', server.provider],
    ['sandbox', server.status],
    ['shared', server.shared ? 'with every token' : 'no'],
    ['created', server.created_at],
    ...Object.entries(server.metadata).map(([key, value]): [string, string] => [
      `metadata.${oneLine(key)}`,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  ];
  const said = facts.filter((fact): fact is [string, string] => Boolean(fact[1]));
  const width = Math.max(...said.map(([name]) => name.length));
  return said.map(
    ([name, value]) =>
      // The state alone carries colours of our own.
      `${name.padEnd(width)}  ${name === 'state' ? value : oneLine(value)}`,
  );
}

function uptimeOf({ uptime_seconds: seconds }: McpServer): string {
  return seconds === null ? '-' : shortDuration(seconds * 1000);
}

function usageOf({ usage }: McpServer): string | null {
  if (!usage) return null;
  const { cpu_percent: cpu, memory_bytes: memory, disk_bytes: disk, processes } = usage;
  const facts = [
    cpu === null ? null : `${String(cpu)} % CPU`,
    memory === null ? null : `${readableSize(memory)} memory`,
    disk === null ? null : `${readableSize(disk)} disk`,
    processes === null ? null : processes === 1 ? '1 process' : `${String(processes)} processes`,
  ];
  return facts.filter((fact) => fact !== null).join(', ');
}

function exitText({ exit_code: code, signal }: NonNullable<McpServer['last_exit']>): string {
  return signal === null ? `exit code ${String(code)}` : signal;
}

function inFlight({ in_flight: now, max_in_flight: most }: McpServer): string {
  return `${String(now)} of at most ${String(most)}`;
}

function commandOf({ command, args }: McpServer): string {
  const words = [...(command === null ? [] : [command]), ...(args ?? [])].map(shellWord).join(' ');
  if (command !== null) return words;
  return words === '' ? "the image's own" : `the image's own, with: ${words}`;
}

function transportOf({ stdio_bridge: bridged, port, path }: McpServer): string {
  if (bridged) return 'over its standard input and output';
  return `HTTP on port ${String(port)}, ${path ?? '/'}`;
}
