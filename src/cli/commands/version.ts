import type { Command } from 'commander';
import { printJson, printLine } from '../terminal/output.ts';
import { version } from '../version.ts';

export function define(command: Command): void {
  command
    .description('Print the version of this command.')
    .option('--json', 'print JSON only')
    .addHelpText('after', '\nExample:\n  emergent version --json | jq -r .version')
    .action(async () => {
      const { json } = command.optsWithGlobals<{ json?: boolean }>();
      if (json === true) await printJson({ version: version() });
      else await printLine(`emergent ${version()}`);
    });
}
