import type { Command } from 'commander';
import { exitCodes } from '../exit-codes.ts';
import type { ReconcileAction, ReconcileReport } from '../http/api-types.ts';
import { ApiClient } from '../http/client.ts';
import { parseAgeMs } from '../input/duration.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { oneLine, printJson, printLine } from '../terminal/output.ts';
import { styledState } from '../terminal/style.ts';
import { tableLines } from '../terminal/table.ts';
import type { Column } from '../terminal/table.ts';

interface GcOptions extends CommonOptions {
  readonly dryRun?: boolean;
  readonly minAge?: number;
  readonly includeUnknown?: boolean;
}

export function define(command: Command): void {
  commonOptions(command)
    .description('Compare what is recorded with what is there, mend the differences, and say why.')
    .option('--dry-run', 'only say what would be done')
    .option(
      '--min-age <duration>',
      'leave younger ones without a record alone: 0s, 15m (default: the grace of the server)',
      parseAgeMs,
    )
    .option('--include-unknown', 'also remove what this database has never heard of')
    .addHelpText(
      'after',
      `
The server does the same by itself, every minute. Needs the role admin. The exit code is 1 if something
failed or could not be looked at.

A sandbox that this database has never heard of is kept: the database may have been set back to an older
backup. Look at it first; then --include-unknown removes it.

Examples:
  emergent gc --dry-run
  emergent gc --min-age 0s
  emergent gc --json | jq '.actions[] | select(.result == "failed")'`,
    )
    .action(async () => {
      await gc(command.optsWithGlobals());
    });
}

async function gc(options: GcOptions): Promise<void> {
  const report = await ApiClient.connect(options).collectGarbage({
    dry_run: options.dryRun === true,
    include_unknown: options.includeUnknown === true,
    ...(options.minAge !== undefined && { min_age_seconds: Math.ceil(options.minAge / 1000) }),
  });
  if (options.json === true) await printJson(report);
  else await printLine(lines(report).join('\n'));
  const failed = report.actions.some(({ result }) => result === 'failed');
  if (failed || report.blocked.length > 0) process.exitCode = exitCodes.failure;
}

const columns = (dryRun: boolean): Column<ReconcileAction>[] => [
  { title: 'ACTION', cell: ({ kind }) => kind.replaceAll('_', ' ') },
  { title: 'WORKSPACE', cell: (row) => row.workspace_id },
  { title: 'PROVIDER', cell: (row) => row.provider },
  {
    title: 'RESULT',
    cell: (row) => resultOf(row, dryRun),
    style: (text, row) => styledState(row.result ?? '', text, process.stdout),
  },
  { title: 'WHY', cell: ({ why, reason }) => (reason === null ? why : `${why}; ${reason}`) },
];

function resultOf({ result, kind }: ReconcileAction, dryRun: boolean): string {
  if (result !== null) return result;
  return dryRun && kind !== 'keep_unknown' ? 'planned' : 'kept';
}

function lines({ actions, leftovers, blocked, dry_run: dryRun }: ReconcileReport): string[] {
  if (actions.length + leftovers.length + blocked.length === 0) return ['nothing to do'];
  const verb = dryRun ? 'would remove' : 'removed';
  return [
    ...(actions.length > 0 ? tableLines(columns(dryRun), actions) : []),
    ...leftovers.map(({ provider, name, why }) =>
      oneLine(`${verb} ${name} of ${provider}: ${why}`),
    ),
    ...blocked.map(({ provider, reason }) =>
      oneLine(`blocked: ${provider} could not be looked at: ${reason}`),
    ),
  ];
}
