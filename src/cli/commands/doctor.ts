import type { Command } from 'commander';

export function define(command: Command): void {
  command
    .description(
      'Check what this host offers to workspaces: state, reason and remedy of each part.',
    )
    .option('--json', 'print JSON only')
    .addHelpText(
      'after',
      `
Needs no server. The exit code is 0 when workspaces can run here.

Examples:
  emergent doctor
  emergent doctor --json | jq '.checks[] | select(.state != "ok")'`,
    )
    .action(async () => {
      const { doctor } = await import('../doctor.ts');
      const options = command.optsWithGlobals<{ json?: boolean }>();
      process.exitCode = await doctor({ json: options.json === true });
    });
}
