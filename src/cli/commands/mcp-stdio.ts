import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { exitCodeOfSignal } from '../exit-codes.ts';
import { UsageFailure } from '../failure.ts';
import { ApiClient } from '../http/client.ts';
import { connection } from '../http/settings.ts';
import { resolveId } from '../remote/ids.ts';
import { serverTarget, wholeTarget, workspaceTarget } from '../remote/mcp-targets.ts';
import type { SnippetTarget } from '../terminal/mcp-snippet.ts';
import { note } from '../terminal/output.ts';
import { onSignals } from '../terminal/signals.ts';

interface StdioOptions {
  readonly url?: string;
  readonly workspace?: string;
  readonly server?: string;
}

export function defineStdio(command: Command): void {
  command
    .description('Speak MCP on standard input and output, for clients that start a program.')
    .option('--workspace <id>', 'the tools of this workspace')
    .option('--server <name>', 'a hosted MCP server, by name or id')
    .option('--url <url>', 'the server (default: $EMERGENT_URL or http://127.0.0.1:7700)')
    .addHelpText('after', stdioHelp)
    .action(async () => {
      await relay(command.optsWithGlobals());
    });
}

const stdioHelp = `
Without --workspace and --server it is Emergent itself: its tools make workspaces and work in them. Messages are passed
on as they are, so both revisions of the protocol are spoken. A server that is restarted is found again. Standard
output holds messages only; what goes wrong is told on standard error. Ends with its standard input.

For the settings of a client (\`emergent mcp config --stdio\` prints it for yours):
  {
    "mcpServers": {
      "emergent": {
        "command": "emergent",
        "args": ["mcp", "stdio"],
        "env": { "EMERGENT_URL": "http://127.0.0.1:7700", "EMERGENT_TOKEN": "..." }
      }
    }
  }

Examples:
  emergent mcp stdio
  emergent mcp stdio --workspace 1f0c
  emergent mcp stdio --server memory`;

async function relay(options: StdioOptions): Promise<void> {
  const way = connection(process.env, options.url);
  const { url } = await targetOf(way.url, options);
  const tell = (text: string): void => {
    note(`emergent: ${text}`);
  };
  const stop = new AbortController();
  using _signals = onSignals((signal) => {
    process.exitCode = exitCodeOfSignal(signal);
    stop.abort();
  });
  // Loaded when it is used: the protocol's library takes as long as all else of a command.
  const { StdioRelay } = await import('../remote/mcp-stdio.ts');
  await new StdioRelay({ way, url, clock: systemClock, tell }).run(stop.signal);
}

async function targetOf(url: string, options: StdioOptions): Promise<SnippetTarget> {
  const { workspace, server } = options;
  if (workspace !== undefined && server !== undefined) {
    throw new UsageFailure('--workspace and --server exclude each other', 'Leave one of them out.');
  }
  // A name is the server's to find: it may be another's by the time of the next message.
  if (server !== undefined) return serverTarget(url, { id: server, name: server }, server);
  if (workspace === undefined) return wholeTarget(url);
  return workspaceTarget(url, await resolveId(ApiClient.connect(options), workspace));
}
