import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { exitCodeOfSignal } from '../exit-codes.ts';
import { ApiClient } from '../http/client.ts';
import type { McpLogLine } from '../http/mcp-types.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { followMcpLogs } from '../remote/mcp-follow-logs.ts';
import { mcpLogLine } from '../terminal/mcp-log-line.ts';
import { note, printJson, printLine } from '../terminal/output.ts';
import { onSignals } from '../terminal/signals.ts';

interface LogsOptions extends CommonOptions {
  readonly follow?: boolean;
  readonly tail: number;
}

export function defineLogs(command: Command): void {
  commonOptions(command)
    .description('Show what an MCP server wrote, and what happened to it, newest last.')
    .argument('<name>', 'name or id of the server')
    .option('-f, --follow', 'go on with what it writes, until Ctrl-C')
    .option('-n, --tail <count>', 'how many lines of the past (at most 1000)', count, 100)
    .addHelpText(
      'after',
      `
Where a line comes from:
  stderr  the server wrote it to its standard error
  stray   the server wrote it to its standard output, and it is no message
  host    about the server: starts, exits, restarts

With --json one document; with --json --follow one line of JSON for each line. When the connection breaks
or the server restarts, following goes on where it stopped, as soon as the server is back within a minute.

Examples:
  emergent mcp logs memory
  emergent mcp logs -f memory -n 10`,
    )
    .action(async (name: string) => {
      await logs(name, command.optsWithGlobals());
    });
}

async function logs(name: string, options: LogsOptions): Promise<void> {
  const client = ApiClient.connect(options);
  if (options.follow === true) {
    await follow(client, name, options);
    return;
  }
  const items = await client.mcp.logs(name, options.tail);
  if (options.json === true) await printJson({ items });
  else if (items.length > 0) await printLine(items.map(shown).join('\n'));
}

async function follow(client: ApiClient, name: string, options: LogsOptions): Promise<void> {
  const stopped = new AbortController();
  using _signals = onSignals((signal) => {
    process.exitCode = exitCodeOfSignal(signal);
    stopped.abort();
  });
  const line = options.json === true ? (one: McpLogLine) => JSON.stringify(one) : shown;
  try {
    const all = followMcpLogs(client.mcp, name, options.tail, {
      clock: systemClock,
      signal: stopped.signal,
      tell: (message) => {
        note(`emergent: ${message}`);
      },
    });
    for await (const one of all) await printLine(line(one));
  } catch (error) {
    // Ctrl-C is how following ends.
    if (!stopped.signal.aborted) throw error;
  }
}

function shown(line: McpLogLine): string {
  return mcpLogLine(line, process.stdout);
}

function count(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= 1000) return value;
  throw new InvalidArgumentError('Write a number from 0 to 1000.');
}
