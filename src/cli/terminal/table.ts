import { oneLine } from './output.ts';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  /** Applied to the padded text, so that invisible characters do not disturb the alignment. */
  readonly style?: (text: string, row: Row) => string;
}

/** Lines of aligned columns under a title line; no trailing spaces. */
export function tableLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const widths = columns.map((column) =>
    Math.max(column.title.length, ...rows.map((row) => oneLine(column.cell(row)).length)),
  );
  const pad = (text: string, index: number): string =>
    index === columns.length - 1 ? text : text.padEnd((widths[index] ?? 0) + 2);
  const title = columns.map((column, index) => pad(column.title, index)).join('');
  const lines = rows.map((row) =>
    columns
      .map((column, index) => {
        const text = pad(oneLine(column.cell(row)), index);
        return column.style ? column.style(text, row) : text;
      })
      .join(''),
  );
  return [title, ...lines];
}
