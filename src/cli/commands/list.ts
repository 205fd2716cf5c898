import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { ApiClient } from '../http/client.ts';
import type { Workspace, WorkspacePage } from '../http/api-types.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { allWorkspaces } from '../remote/pages.ts';
import { note, printJson, printLine } from '../terminal/output.ts';
import { styledState } from '../terminal/style.ts';
import { tableLines } from '../terminal/table.ts';
import type { Column } from '../terminal/table.ts';
import { shortDuration, untilExpiry } from '../terminal/units.ts';

interface ListOptions extends CommonOptions {
  readonly status?: string;
  readonly provider?: string;
  readonly all?: boolean;
  readonly quiet?: boolean;
}

export function define(command: Command): void {
  commonOptions(command)
    .description('List workspaces, newest first.')
    .option('--status <status>', 'only these: ready, creating, stopped, error, …')
    .option('--provider <name>', 'only those of this provider')
    .option('--all', 'every page, not only the first')
    .option('-q, --quiet', 'print ids only')
    .addHelpText(
      'after',
      `
Examples:
  emergent list
  emergent list --status error
  emergent destroy $(emergent list --all --quiet)
  emergent list --json | jq -r '.items[].id'`,
    )
    .action(async () => {
      await list(command.optsWithGlobals());
    });
}

async function list(options: ListOptions): Promise<void> {
  const page = await readPage(ApiClient.connect(options), options);
  if (options.json === true) {
    await printJson(page);
    return;
  }
  const lines =
    options.quiet === true ? page.items.map(({ id }) => id) : tableLines(columns(), page.items);
  if (lines.length > 0) await printLine(lines.join('\n'));
  if (page.next_cursor !== null) note('There are more: emergent list --all');
}

async function readPage(client: ApiClient, options: ListOptions): Promise<WorkspacePage> {
  const query = {
    ...(options.status !== undefined && { status: options.status }),
    ...(options.provider !== undefined && { provider: options.provider }),
  };
  if (options.all !== true) return client.listWorkspaces(query);
  return { items: await Array.fromAsync(allWorkspaces(client, query)), next_cursor: null };
}

function columns(): Column<Workspace>[] {
  const now = systemClock.now().getTime();
  return [
    { title: 'ID', cell: (row) => row.id },
    {
      title: 'STATUS',
      cell: (row) => row.status,
      style: (text, row) => styledState(row.status, text, process.stdout),
    },
    { title: 'PROVIDER', cell: (row) => row.provider },
    { title: 'IMAGE', cell: (row) => row.image },
    { title: 'CPU', cell: (row) => String(row.resource_limits.cpu) },
    { title: 'MEMORY', cell: (row) => row.resource_limits.memory },
    { title: 'AGE', cell: (row) => shortDuration(now - Date.parse(row.created_at)) },
    { title: 'EXPIRES', cell: (row) => untilExpiry(row.expires_at, now) },
  ];
}
