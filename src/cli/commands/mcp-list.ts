import type { Command } from 'commander';
import { ApiClient } from '../http/client.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { mcpServerLines } from '../terminal/mcp-lines.ts';
import { printJson, printLine } from '../terminal/output.ts';

interface ListOptions extends CommonOptions {
  readonly quiet?: boolean;
}

export function defineList(command: Command): void {
  commonOptions(command)
    .description('List the hosted MCP servers, oldest first.')
    .option('-q, --quiet', 'print ids only')
    .addHelpText(
      'after',
      `
States:
  starting      its program was started and has not introduced itself
  healthy       it answers
  unresponsive  it has been silent for too long; it is not restarted for that
  waiting       it has crashed and is started again soon
  ended         it has ended, and its restart policy leaves it so
  stopped       somebody stopped it
  unavailable   its sandbox cannot be had now

Examples:
  emergent mcp list
  emergent mcp restart $(emergent mcp list -q)
  emergent mcp list --json | jq '.items[] | {name, state: .health.state}'`,
    )
    .action(async () => {
      const options = command.optsWithGlobals<ListOptions>();
      const servers = await ApiClient.connect(options).mcp.list();
      if (options.json === true) {
        await printJson({ items: servers });
        return;
      }
      const lines = options.quiet === true ? servers.map(({ id }) => id) : mcpServerLines(servers);
      if (lines.length > 0) await printLine(lines.join('\n'));
    });
}
