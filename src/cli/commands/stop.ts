import type { Command } from 'commander';
import { commonOptions } from '../input/options.ts';
import { changeWorkspaces } from '../remote/change-workspaces.ts';

export function define(command: Command): void {
  commonOptions(command)
    .description(
      'Stop workspaces: their files stay, their commands end, their place is free for others.',
    )
    .argument('<id...>', 'ids, or their first characters (at least 4)')
    .option('-q, --quiet', 'print nothing for what was stopped')
    .addHelpText(
      'after',
      `
Running commands get SIGTERM and up to 10 seconds. Prints the id of each workspace that is stopped. If one
cannot be, the others still are, and the exit code is 1.

Examples:
  emergent stop 1f0c
  emergent stop -q $(emergent list --all --quiet --status ready)`,
    )
    .action(async (ids: string[]) => {
      await changeWorkspaces(ids, command.optsWithGlobals(), (client, id) =>
        client.stopWorkspace(id),
      );
    });
}
