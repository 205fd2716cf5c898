import { Failure } from '../failure.ts';
import type { ApiClient } from '../http/client.ts';
import type { McpLogLine, McpServer } from '../http/mcp-types.ts';
import type { CommonOptions } from '../input/options.ts';
import { mcpLogLine } from '../terminal/mcp-log-line.ts';
import { stateOf } from '../terminal/mcp-lines.ts';
import { note } from '../terminal/output.ts';

const shownLines = 20;

/** Refuses a server whose program does not answer: shows what it wrote last, and fails with the reason. */
export async function expectHealthy(
  client: ApiClient,
  server: McpServer,
  { json }: CommonOptions,
): Promise<void> {
  const { health, name } = server;
  if (health.state === 'healthy') return;
  const log = await lastLines(client, server);
  if (json !== true) for (const line of log) note(mcpLogLine(line, process.stderr));
  const reason = health.reason ?? 'no reason given';
  throw new Failure('mcp_unhealthy', `${name} is ${stateOf(server)}: ${reason}`, {
    hint: remedy(server),
    details: { health, log },
  });
}

/** None where the log cannot be had: why the server is not healthy is known without. */
async function lastLines(client: ApiClient, { id }: McpServer): Promise<readonly McpLogLine[]> {
  try {
    return await client.mcp.logs(id, shownLines);
  } catch (error) {
    if (error instanceof Failure) return [];
    throw error;
  }
}

function remedy({ name, health }: McpServer): string {
  const goesOn =
    health.next_start_at === null ? '' : `It is started again at ${health.next_start_at}. `;
  return `${goesOn}More: emergent mcp logs ${name}; once mended: emergent mcp restart ${name}; to give it up: emergent mcp rm ${name}`;
}
