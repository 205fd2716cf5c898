import type { Command } from 'commander';
import { ApiClient } from '../http/client.ts';
import type { McpClient } from '../http/mcp-client.ts';
import type { McpServer } from '../http/mcp-types.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { eachInTurn } from '../remote/each-workspace.ts';
import { expectHealthy } from '../remote/mcp-health.ts';
import { printJson, printLine } from '../terminal/output.ts';

/** A change of state that takes any number of servers. */
interface Change {
  readonly verb: 'restart' | 'stop' | 'start';
  readonly description: string;
  readonly help: string;
  readonly work: (client: McpClient, id: string) => Promise<McpServer>;
  /** It is to answer afterwards. */
  readonly runs: boolean;
}

const changes: readonly Change[] = [
  {
    verb: 'restart',
    description: 'End the programs of MCP servers and start them again, at once.',
    help: `
Its clients keep their connections. Its history of crashes begins anew. Prints each name; the exit code is 1 if
one does not answer afterwards.

Examples:
  emergent mcp restart memory
  emergent mcp restart $(emergent mcp list -q)`,
    work: (client, id) => client.restart(id),
    runs: true,
  },
  {
    verb: 'stop',
    description: 'Stop MCP servers: they stay stopped, also when Emergent restarts.',
    help: `
The program gets SIGTERM and up to 30 seconds. Its files stay. Prints each name.

Example:
  emergent mcp stop memory everything`,
    work: (client, id) => client.stop(id),
    runs: false,
  },
  {
    verb: 'start',
    description: 'Start MCP servers that were stopped, or that have ended.',
    help: `
Its history of crashes begins anew. Prints each name; the exit code is 1 if one does not answer afterwards.

Example:
  emergent mcp start memory`,
    work: (client, id) => client.start(id),
    runs: true,
  },
];

/** `restart`, `stop` and `start`, below the command. */
export function defineChanges(parent: Command): void {
  for (const change of changes) {
    const command = commonOptions(parent.command(change.verb))
      .description(change.description)
      .argument('<name...>', 'names or ids of servers')
      .addHelpText('after', change.help);
    command.action(async (names: string[]) => {
      await apply(change, names, command.optsWithGlobals());
    });
  }
}

async function apply(
  { work, runs }: Change,
  names: readonly string[],
  options: CommonOptions,
): Promise<void> {
  const client = ApiClient.connect(options);
  const items: McpServer[] = [];
  await eachInTurn(
    names,
    options,
    (name) => work(client.mcp, name),
    async (server) => {
      items.push(server);
      if (runs) await expectHealthy(client, server, options);
      if (options.json !== true) await printLine(server.name);
    },
  );
  if (options.json === true) await printJson({ items });
}
