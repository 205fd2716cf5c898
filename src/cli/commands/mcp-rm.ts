import type { Command } from 'commander';
import { ApiClient } from '../http/client.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { eachInTurn } from '../remote/each-workspace.ts';
import { note, oneLine, printJson, printLine } from '../terminal/output.ts';

interface RemoveOptions extends CommonOptions {
  readonly keepVolumes?: boolean;
}

export function defineRemove(command: Command): void {
  commonOptions(command)
    .description('Remove MCP servers with everything in them.')
    .argument('<name...>', 'names or ids of servers')
    .option('--keep-volumes', 'keep the files in their volumes for the next one of that name')
    .addHelpText(
      'after',
      `
The program gets SIGTERM and up to 30 seconds. Prints what was removed. If one cannot be, the others still are, and
the exit code is 1. \`emergent mcp volumes\` shows what was kept.

Examples:
  emergent mcp rm memory
  emergent mcp rm --keep-volumes memory`,
    )
    .action(async (names: string[]) => {
      await remove(names, command.optsWithGlobals());
    });
}

async function remove(names: readonly string[], options: RemoveOptions): Promise<void> {
  const { mcp } = ApiClient.connect(options);
  const removed: string[] = [];
  await eachInTurn(
    names,
    options,
    async (name) => ({ name, kept: await mcp.delete(name, options.keepVolumes === true) }),
    async ({ name, kept }) => {
      removed.push(name);
      if (options.json === true) return;
      await printLine(name);
      if (kept) note(oneLine(`kept ${kept.paths.join(', ')} of ${name}: emergent mcp volumes`));
    },
  );
  if (options.json === true) await printJson({ removed });
}
