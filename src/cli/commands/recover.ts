import type { Command } from 'commander';
import { commonOptions } from '../input/options.ts';
import { changeWorkspaces } from '../remote/change-workspaces.ts';

export function define(command: Command): void {
  commonOptions(command)
    .description('Try to bring workspaces in state error back.')
    .argument('<id...>', 'ids, or their first characters (at least 4)')
    .option('-q, --quiet', 'print nothing for what was recovered')
    .addHelpText(
      'after',
      `
Prints the id of each workspace that is ready again; \`emergent get\` shows why one was in error. One whose
files are lost can only be destroyed. If one cannot be recovered, the others still are, and the exit code
is 1.

Examples:
  emergent recover 1f0c
  emergent recover $(emergent list --all --quiet --status error)`,
    )
    .action(async (ids: string[]) => {
      await changeWorkspaces(ids, command.optsWithGlobals(), (client, id) =>
        client.recoverWorkspace(id),
      );
    });
}
