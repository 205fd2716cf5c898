import type { Row } from './database.ts';

/** For statements that return exactly one row or throw. */
export function onlyRow(rows: readonly Row[]): Row {
  const [row] = rows;
  if (!row || rows.length !== 1) throw new Error(`expected one row, got ${String(rows.length)}`);
  return row;
}
