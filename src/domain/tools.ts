/** The tools that work on one file. The same on every provider. */

export interface ReadRequest {
  readonly path: string;
  /** The first line, or entry of a directory, to show; they count from 1. */
  readonly offset: number;
  readonly limit: number;
}

/** A part of something longer. */
interface Part {
  /** Absolute. */
  readonly path: string;
  /** More follows what is shown. */
  readonly truncated: boolean;
  /** Where to read on; null when this was the end. */
  readonly nextOffset: number | null;
}

export type LineEnding = 'lf' | 'crlf' | 'mixed';

export interface ReadText extends Part {
  readonly kind: 'text';
  /** Null where only reading tells, as for files in /proc. */
  readonly size: number | null;
  /** Each line as `N: text`, without its line ending; long ones cut, with a mark. */
  readonly content: string;
  /** How many lines are shown. */
  readonly lines: number;
  /** Null where the end was not reached. */
  readonly totalLines: number | null;
  /** Of the lines up to the last one shown; null where none has an ending. */
  readonly lineEnding: LineEnding | null;
  /** Whether the last line has an ending; null where the end was not reached, or there is no line. */
  readonly endsWithNewline: boolean | null;
}

export interface ReadDirectory extends Part {
  readonly kind: 'directory';
  /** In the order of their bytes; directories, and links to directories, end in a slash. */
  readonly entries: readonly string[];
  readonly totalEntries: number;
}

/** Not text: a NUL in its first bytes, or something that is not UTF-8 in what was read. */
export interface ReadBinary {
  readonly kind: 'binary';
  readonly path: string;
  readonly size: number | null;
}

export type ReadResult = ReadText | ReadDirectory | ReadBinary;

export const readLimits = {
  lines: 2_000,
  /** Of one line, in UTF-16 units. */
  lineCharacters: 2_000,
  /** Of the whole content, as UTF-8. */
  bytes: 50 * 1024,
  /** Where a NUL makes a file binary. */
  binaryBytes: 8 * 1024,
} as const;

export interface WriteRequest {
  readonly path: string;
  readonly content: string;
}

export interface WriteResult {
  readonly path: string;
  readonly size: number;
  readonly created: boolean;
}

export interface EditRequest {
  readonly path: string;
  readonly oldString: string;
  readonly newString: string;
  readonly replaceAll: boolean;
}

export interface EditResult {
  readonly path: string;
  readonly size: number;
  readonly replacements: number;
}
