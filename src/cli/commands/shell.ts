import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { UsageFailure } from '../failure.ts';
import { ApiClient } from '../http/client.ts';
import type { TerminalPlace } from '../http/terminal-client.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { resolveId, resolveProcess } from '../remote/ids.ts';
import { shell } from '../remote/shell.ts';

interface ShellOptions extends CommonOptions {
  readonly command?: string;
  readonly attach?: string;
}

/** How much of what was on the screen is shown again. */
const shownAgainBytes = 64 * 1024;
/** Fed by a pipe, a shell must not edit lines: that loses what comes before it is ready. */
const pipedShell = 'exec bash --noediting';

export function define(command: Command): void {
  commonOptions(command)
    .description('Open a shell in a workspace, or come back to one.')
    .argument('<id>', 'id of the workspace, or its first characters (at least 4)')
    .option('--command <line>', "run this instead of the image's shell")
    .option('--attach <process>', 'come back to a terminal; its id, or the first characters')
    .addHelpText(
      'after',
      `
Its exit code becomes ours. Ctrl-], or ~. at the beginning of a line, leaves it running. When the connection
breaks or the server restarts, the terminal goes on where it was, as soon as the server is back within a minute.
Input that is not a terminal is passed on as if it were typed, and then ended.

Examples:
  emergent shell 1f0c
  emergent shell 1f0c --command 'vim notes.txt'
  emergent shell 1f0c --attach 9a3e`,
    )
    .action(async (id: string) => {
      await openShell(id, command.optsWithGlobals());
    });
}

async function openShell(id: string, options: ShellOptions): Promise<void> {
  if (options.command !== undefined && options.attach !== undefined) {
    throw new UsageFailure('--command and --attach exclude each other', 'Leave one of them out.');
  }
  const client = ApiClient.connect(options);
  const workspaceId = await resolveId(client, id);
  const place = await placeOf(client, workspaceId, options);
  const exit = await shell(client, workspaceId, place, systemClock);
  process.exitCode = exit.exit_code;
}

async function placeOf(
  client: ApiClient,
  workspaceId: string,
  { command, attach }: ShellOptions,
): Promise<TerminalPlace> {
  if (attach === undefined) {
    const wanted = command ?? (process.stdin.isTTY ? undefined : pipedShell);
    return wanted === undefined ? {} : { command: wanted };
  }
  const processId = await resolveProcess(client, workspaceId, attach);
  const { output_bytes: size } = await client.processes.get(workspaceId, processId);
  return { processId, offset: Math.max(0, size - shownAgainBytes) };
}
