import type { Command } from 'commander';
import { ApiClient } from '../http/client.ts';
import type { McpKeptVolumes } from '../http/mcp-types.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { eachInTurn } from '../remote/each-workspace.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { tableLines } from '../terminal/table.ts';
import type { Column } from '../terminal/table.ts';

export function defineVolumes(command: Command): void {
  commonOptions(command)
    .description('List the files that were kept of removed MCP servers.')
    .addHelpText(
      'after',
      `
The next server that is added under the same name gets them again. Volumes of servers that are there are shown by
\`emergent mcp get\`.

Examples:
  emergent mcp volumes
  emergent mcp volumes rm 7b0e8a52-4a3c-4a0e-9a51-0d7f7c3a9f11`,
    )
    .action(async () => {
      const options = command.optsWithGlobals<CommonOptions>();
      const items = await ApiClient.connect(options).mcp.keptVolumes();
      if (options.json === true) await printJson({ items });
      else await printLine(tableLines(columns, items).join('\n'));
    });
  defineRemove(command.command('rm'));
}

const columns: readonly Column<McpKeptVolumes>[] = [
  { title: 'ID', cell: (row) => row.id },
  { title: 'NAME', cell: (row) => row.name },
  { title: 'PROVIDER', cell: (row) => row.provider },
  { title: 'PATHS', cell: (row) => row.paths.join(', ') },
  { title: 'KEPT', cell: (row) => row.kept_at },
];

function defineRemove(command: Command): void {
  commonOptions(command)
    .description('Remove kept files for good.')
    .argument('<id...>', 'ids, as `emergent mcp volumes` shows them')
    .addHelpText(
      'after',
      '\nExample:\n  emergent mcp volumes rm 7b0e8a52-4a3c-4a0e-9a51-0d7f7c3a9f11',
    )
    .action(async (ids: string[]) => {
      const options = command.optsWithGlobals<CommonOptions>();
      const { mcp } = ApiClient.connect(options);
      const removed: string[] = [];
      const work = async (id: string): Promise<string> => {
        await mcp.removeKeptVolumes(id);
        return id;
      };
      await eachInTurn(ids, options, work, async (id) => {
        removed.push(id);
        if (options.json !== true) await printLine(id);
      });
      if (options.json === true) await printJson({ removed });
    });
}
