import type { Command } from 'commander';
import { ApiClient } from '../http/client.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { parseSignal } from '../input/signal-name.ts';
import { resolveId, resolveProcess } from '../remote/ids.ts';
import { printJson, printLine } from '../terminal/output.ts';

interface KillOptions extends CommonOptions {
  readonly signal: string;
}

export function define(command: Command): void {
  commonOptions(command)
    .description('Send a signal to a process and everything it started.')
    .argument('<id>', 'id of the workspace, or its first characters (at least 4)')
    .argument('<process>', 'id of the process, or its first characters (at least 4)')
    .option(
      '-s, --signal <name>',
      'TERM, INT, KILL, HUP, QUIT, USR1 or USR2',
      parseSignal,
      'SIGTERM',
    )
    .addHelpText(
      'after',
      `
Prints the id of the process. Whether it ends is its own affair, unless the signal is KILL:
\`emergent ps --all\` tells.

Examples:
  emergent kill 1f0c 9a3e
  emergent kill 1f0c 9a3e -s KILL`,
    )
    .action(async (id: string, text: string) => {
      await kill(id, text, command.optsWithGlobals());
    });
}

async function kill(id: string, text: string, options: KillOptions): Promise<void> {
  const client = ApiClient.connect(options);
  const workspaceId = await resolveId(client, id);
  const processId = await resolveProcess(client, workspaceId, text);
  await client.processes.signal(workspaceId, processId, options.signal);
  if (options.json !== true) await printLine(processId);
  else await printJson({ process_id: processId, signal: options.signal });
}
