import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { ApiClient } from '../http/client.ts';
import type { Process } from '../http/api-types.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { resolveId } from '../remote/ids.ts';
import { oneLine, printJson, printLine } from '../terminal/output.ts';
import { styledState } from '../terminal/style.ts';
import { tableLines } from '../terminal/table.ts';
import type { Column } from '../terminal/table.ts';
import { shortDuration } from '../terminal/units.ts';

interface PsOptions extends CommonOptions {
  readonly all?: boolean;
  readonly quiet?: boolean;
}

const shownCharacters = 60;

export function define(command: Command): void {
  commonOptions(command)
    .description('List the commands that run in a workspace.')
    .argument('<id>', 'id of the workspace, or its first characters (at least 4)')
    .option('-a, --all', 'also those that have ended, as long as they are remembered')
    .option('-q, --quiet', 'print whole ids only')
    .addHelpText(
      'after',
      `
Shows what \`exec\` and other callers run, attached and detached, oldest first.

Examples:
  emergent ps 1f0c
  emergent ps --all 1f0c
  emergent ps --json 1f0c | jq -r '.items[] | select(.detached) | .id'`,
    )
    .action(async (id: string) => {
      await ps(id, command.optsWithGlobals());
    });
}

async function ps(text: string, options: PsOptions): Promise<void> {
  const client = ApiClient.connect(options);
  const all = await client.processes.list(await resolveId(client, text));
  const items = options.all === true ? all : all.filter(({ status }) => status === 'running');
  if (options.json === true) {
    await printJson({ items });
    return;
  }
  const lines = options.quiet === true ? items.map(({ id }) => id) : tableLines(columns(), items);
  if (lines.length > 0) await printLine(lines.join('\n'));
}

function columns(): Column<Process>[] {
  const now = systemClock.now().getTime();
  return [
    { title: 'PROCESS', cell: (row) => row.id.slice(0, 8) },
    { title: 'PID', cell: (row) => String(row.pid) },
    {
      title: 'STATUS',
      cell: stateOf,
      style: (text, row) => styledState(row.status, text, process.stdout),
    },
    { title: 'AGE', cell: (row) => shortDuration(now - Date.parse(row.started_at)) },
    { title: 'COMMAND', cell: (row) => shortened(oneLine(row.command)) },
  ];
}

/** "running", "exited 0" or "killed SIGTERM". */
function stateOf({ status, exit_code: code, signal }: Process): string {
  if (status === 'running') return status;
  return signal === null ? `exited ${String(code)}` : `killed ${signal}`;
}

function shortened(command: string): string {
  const characters = Array.from(command);
  if (characters.length <= shownCharacters) return command;
  return `${characters.slice(0, shownCharacters - 1).join('')}…`;
}
