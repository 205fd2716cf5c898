import type { WarmPool, WarmPoolReport } from '../http/api-types.ts';
import { oneLine } from './output.ts';
import { styledState } from './style.ts';
import { tableLines } from './table.ts';
import type { Column } from './table.ts';

const columns: readonly Column<WarmPool>[] = [
  { title: 'NAME', cell: (row) => row.name },
  { title: 'SIZE', cell: (row) => String(row.size) },
  { title: 'READY', cell: (row) => String(row.ready) },
  { title: 'CREATING', cell: (row) => String(row.creating) },
  {
    title: 'STATE',
    cell: (row) => row.state,
    style: (text, row) => styledState(row.state, text, process.stdout),
  },
  { title: 'PROVIDER', cell: (row) => row.provider ?? '-' },
  { title: 'IMAGE', cell: (row) => row.image },
  { title: 'CPU', cell: (row) => String(row.resource_limits.cpu) },
  { title: 'MEMORY', cell: (row) => row.resource_limits.memory },
  { title: 'DISK', cell: (row) => row.resource_limits.disk },
  { title: 'NETWORK', cell: (row) => row.network },
];

/** A table of the pools; below it why one is not as it should be, and how often creates met one. */
export function poolLines({ pools, hits, misses }: WarmPoolReport): string[] {
  return [
    ...tableLines(columns, pools),
    ...pools.flatMap(({ name, reason }) =>
      reason === null ? [] : [oneLine(`${name}: ${reason}`)],
    ),
    `hits: ${counted(hits)}; misses: ${counted(misses)}`,
  ];
}

/** "12 (default 10, python 2)"; only what was counted at all. */
function counted(counts: Readonly<Record<string, number>>): string {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  const sum = String(some.reduce((total, [, count]) => total + count, 0));
  const each = some.map(([name, count]) => oneLine(`${name} ${String(count)}`));
  return each.length === 0 ? sum : `${sum} (${each.join(', ')})`;
}
