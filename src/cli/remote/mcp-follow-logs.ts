import type { McpClient } from '../http/mcp-client.ts';
import type { McpLogLine } from '../http/mcp-types.ts';
import { reconnecting } from './reconnect.ts';
import type { ReconnectOptions } from './reconnect.ts';

/** As much as a server of ours keeps may have been written while the connection was broken. */
const missedAtMost = 1000;

/** The last `tail` lines of a server's log, then what is written, each once, also over broken connections. */
export async function* followMcpLogs(
  client: McpClient,
  id: string,
  tail: number,
  options: ReconnectOptions,
): AsyncGenerator<McpLogLine> {
  let last: McpLogLine | undefined;
  let caughtUp = true;
  const open = (): Promise<AsyncIterable<McpLogLine>> => {
    caughtUp = last === undefined;
    return client.followLogs(id, last ? missedAtMost : tail, options.signal);
  };
  for await (const line of reconnecting(open, options)) {
    caughtUp ||= last === undefined || isBehind(line, last);
    if (!caughtUp) continue;
    last = line;
    yield line;
  }
}

/** Numbers begin anew with another server of ours, whose lines are later ones. */
function isBehind(line: McpLogLine, last: McpLogLine): boolean {
  return line.at > last.at || (line.at === last.at && line.number > last.number);
}
