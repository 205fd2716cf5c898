import { EmergentError } from '../domain/errors.ts';
import type { Row } from './database.ts';

/**
 * Reading columns and encoding values, by hand, so that both drivers give and get the same. A value that a
 * column must not hold is a fault of the server or a hand that edited the row: it is named, never passed on.
 */

export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw unexpected(column, value);
  return value;
}

export function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : text(row, column);
}

export function oneOf<const T extends string>(row: Row, column: string, values: readonly T[]): T {
  const value = row[column];
  const known = values.find((each) => each === value);
  if (known === undefined) throw unexpected(column, value);
  return known;
}

export function integerOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : integer(row, column);
}

export function boolean(row: Row, column: string): boolean {
  const value = row[column];
  if (typeof value !== 'boolean') throw unexpected(column, value);
  return value;
}

/** One driver gives a bigint column as a string, the other as a number. */
export function integer(row: Row, column: string): number {
  const value = row[column];
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  if (!Number.isSafeInteger(number)) throw unexpected(column, value);
  return number as number;
}

export function time(row: Row, column: string): Date {
  const value = row[column];
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) throw unexpected(column, value);
  return value;
}

export function timeOrNull(row: Row, column: string): Date | null {
  return row[column] === null ? null : time(row, column);
}

/** A time in a JSON column, as `encodeTime` wrote it. */
export function isoTime(row: Row, column: string): Date {
  const value = new Date(text(row, column));
  if (Number.isNaN(value.getTime())) throw unexpected(column, row[column]);
  return value;
}

/** A JSON column, or a member of one, that holds a list of texts. */
export function strings(row: Row, column: string): readonly string[] {
  const value = row[column];
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'string')) {
    throw unexpected(column, value);
  }
  return value;
}

export function stringsOrNull(row: Row, column: string): readonly string[] | null {
  return row[column] === null ? null : strings(row, column);
}

export function object(row: Row, column: string): Readonly<Record<string, unknown>> {
  const value = row[column];
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw unexpected(column, value);
  return value as Readonly<Record<string, unknown>>;
}

export function objectOrNull(row: Row, column: string): Readonly<Record<string, unknown>> | null {
  return row[column] === null ? null : object(row, column);
}

export function unexpected(column: string, value: unknown): EmergentError {
  return new EmergentError(
    'internal',
    `the database holds an unexpected ${column}: ${typeof value}`,
    {
      details: { column, value },
    },
  );
}

/**
 * Text for people (reasons, commands, paths) as a column can hold it. It may come from inside a sandbox, or be cut
 * in the middle of a character, and must not fail the statement that carries it.
 */
export function encodeRemark(value: string): string {
  return value.toWellFormed().replaceAll('\0', '\ufffd');
}

/** RFC 3339, whose years have four digits. */
export function encodeTime(value: Date): string {
  const year = value.getUTCFullYear();
  if (!(year >= 1 && year <= 9999)) {
    throw new EmergentError('invalid_value', 'a time is outside the years 1 to 9999');
  }
  return value.toISOString();
}

export function encodeTimeOrNull(value: Date | null): string | null {
  return value === null ? null : encodeTime(value);
}
