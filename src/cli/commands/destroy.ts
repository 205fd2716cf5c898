import type { Command } from 'commander';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { eachWorkspace } from '../remote/each-workspace.ts';
import { printJson, printLine } from '../terminal/output.ts';

interface DestroyOptions extends CommonOptions {
  readonly quiet?: boolean;
}

export function define(command: Command): void {
  commonOptions(command)
    .description('Destroy workspaces with everything in them.')
    .argument('<id...>', 'ids, or their first characters (at least 4)')
    .option('-q, --quiet', 'print nothing for what was destroyed')
    .addHelpText(
      'after',
      `
Running commands get SIGTERM and up to 10 seconds. Prints the id of each workspace that was destroyed. If one
cannot be, the others still are, and the exit code is 1.

Examples:
  emergent destroy 1f0c
  emergent destroy -q $(emergent list --all --quiet)`,
    )
    .action(async (ids: string[]) => {
      await destroy(ids, command.optsWithGlobals());
    });
}

async function destroy(texts: readonly string[], options: DestroyOptions): Promise<void> {
  const destroyed: string[] = [];
  await eachWorkspace(
    texts,
    options,
    async (client, id) => {
      await client.destroyWorkspace(id);
      return id;
    },
    async (id) => {
      destroyed.push(id);
      if (options.quiet !== true && options.json !== true) await printLine(id);
    },
  );
  if (options.json === true) await printJson({ destroyed });
}
