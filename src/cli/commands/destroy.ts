import type { Command } from 'commander';
import { exitCodes } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { ApiClient } from '../http/client.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { checkId, resolveId } from '../remote/ids.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { reportFailure } from '../terminal/report.ts';

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
Prints the id of each workspace that was destroyed. If one cannot be, the others still are, and the exit
code is 1.

Examples:
  emergent destroy 1f0c
  emergent destroy -q $(emergent list --all --quiet)`,
    )
    .action(async (ids: string[]) => {
      await destroy(ids, command.optsWithGlobals());
    });
}

async function destroy(texts: readonly string[], options: DestroyOptions): Promise<void> {
  // A slip of the keyboard destroys nothing, not even what stands before it.
  texts.forEach(checkId);
  const client = ApiClient.connect(options);
  const destroyed: string[] = [];
  for (const text of texts) {
    try {
      const id = await resolveId(client, text);
      await client.destroyWorkspace(id);
      destroyed.push(id);
      if (options.quiet !== true && options.json !== true) await printLine(id);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      reportFailure(error, options.json === true);
      process.exitCode = exitCodes.failure;
      // Without a server the others would fail just the same.
      if (error.code === 'unreachable') break;
    }
  }
  if (options.json === true) await printJson({ destroyed });
}
