import type { Command } from 'commander';
import { commonOptions } from '../input/options.ts';
import { changeWorkspaces } from '../remote/change-workspaces.ts';

export function define(command: Command): void {
  commonOptions(command)
    .description('Start stopped workspaces again, on the files that they had.')
    .argument('<id...>', 'ids, or their first characters (at least 4)')
    .option('-q, --quiet', 'print nothing for what was resumed')
    .addHelpText(
      'after',
      `
Prints the id of each workspace that is ready again. Each takes one of the places of running workspaces. If
one cannot be resumed, the others still are, and the exit code is 1.

Examples:
  emergent resume 1f0c
  emergent resume 1f0c && emergent exec 1f0c -- git status`,
    )
    .action(async (ids: string[]) => {
      await changeWorkspaces(ids, command.optsWithGlobals(), (client, id) =>
        client.resumeWorkspace(id),
      );
    });
}
