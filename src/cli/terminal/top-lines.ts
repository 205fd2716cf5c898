import type { WorkspaceStats } from '../http/api-types.ts';
import type { TopView } from '../remote/top.ts';
import { oneLine } from './output.ts';
import { styled, styledState } from './style.ts';
import { tableLines } from './table.ts';
import type { Column } from './table.ts';
import { readableSize, shortDuration } from './units.ts';

const unknown = '-';

/** Those that use most first; of equal ones those that were used last. */
export function busiestFirst(items: readonly WorkspaceStats[]): readonly WorkspaceStats[] {
  const cpu = (item: WorkspaceStats): number => item.cpu_percent ?? -1;
  return items.toSorted((a, b) => cpu(b) - cpu(a) || b.last_used_at.localeCompare(a.last_used_at));
}

/** The table, without anything that only makes sense on a screen. */
export function statsLines(items: readonly WorkspaceStats[], now: Date): string[] {
  const note = { title: 'NOTE', cell: (row: WorkspaceStats) => row.reason ?? '' };
  const notes = items.some(({ reason }) => reason !== null) ? [note] : [];
  return tableLines([...columns(now.getTime()), ...notes], busiestFirst(items));
}

/** The whole screen: a summary, what is wrong, the table. */
export function topLines({ report, trouble }: TopView, now: Date): string[] {
  const { items, left_out: leftOut } = report;
  const more = leftOut > 0 ? `, ${String(leftOut)} more not shown` : '';
  const total = items.reduce((sum, { cpu_percent: cpu }) => sum + (cpu ?? 0), 0);
  const summary = `${String(items.length)} workspaces${more}, ${percent(total)} of a core in use`;
  const state =
    trouble === undefined
      ? 'q to quit'
      : styled('red', `${oneLine(trouble)}; trying again`, process.stdout);
  const clock = now.toLocaleTimeString('en-GB');
  return [`${clock}  ${summary}`, state, '', ...statsLines(items, now)];
}

function columns(now: number): Column<WorkspaceStats>[] {
  return [
    { title: 'WORKSPACE', cell: (row) => row.workspace_id.slice(0, 8) },
    { title: 'PROVIDER', cell: (row) => row.provider },
    {
      title: 'STATUS',
      cell: (row) => row.status,
      style: (text, row) => styledState(row.status, text, process.stdout),
    },
    { title: 'CPU', cell: (row) => `${percent(row.cpu_percent)}/${String(row.cpu_limit * 100)}%` },
    { title: 'MEMORY', cell: (row) => share(row.memory_bytes, row.memory_limit_bytes) },
    { title: 'DISK', cell: (row) => share(row.disk_bytes, row.disk_limit_bytes) },
    { title: 'PROCS', cell: (row) => (row.processes === null ? unknown : String(row.processes)) },
    {
      title: 'IDLE',
      cell: (row) =>
        `${shortDuration(now - Date.parse(row.last_used_at))}${row.frozen ? ' frozen' : ''}`,
    },
  ];
}

function percent(value: number | null): string {
  return value === null ? unknown : `${value.toFixed(1)}%`;
}

function share(bytes: number | null, limit: number): string {
  return `${bytes === null ? unknown : readableSize(bytes)}/${readableSize(limit)}`;
}
