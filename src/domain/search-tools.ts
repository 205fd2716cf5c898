import { isUtf8 } from 'node:buffer';

/** The glob and grep tools: finding files, and lines in them. The same on every provider and in every image. */
export interface GlobRequest {
  /** Relative to `path`: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any number of directories. */
  readonly pattern: string;
  /** The directory to search; relative ones start at /workspace. */
  readonly path: string;
  readonly limit: number;
  /** Also look into directories named .git. */
  readonly gitDir: boolean;
}

/**
 * A path from a sandbox. One that is not UTF-8 is `escaped`: stray bytes as \xNN, backslashes doubled. Others are
 * as they are.
 */
export interface FoundPath {
  readonly path: string;
  readonly escaped: boolean;
}

export interface GlobMatch extends FoundPath {
  readonly kind: 'file' | 'symlink' | 'other';
  readonly size: number;
  readonly modifiedAt: Date;
}

export interface GlobResult {
  /** Newest first. Directories are never among them, and symbolic links are not followed. */
  readonly matches: readonly GlobMatch[];
  /** How many there are, also those beyond the limit. */
  readonly total: number;
  readonly truncated: boolean;
  /** How many directories could not be looked into. */
  readonly unreadable: number;
}

export interface GrepRequest {
  /** A regular expression in RE2's syntax, held against single lines. */
  readonly pattern: string;
  /** The directory or the file to search; relative ones start at /workspace. */
  readonly path: string;
  /** Which files: a glob on names, or, with a slash in it, on paths relative to `path`. */
  readonly include?: string;
  readonly caseInsensitive: boolean;
  readonly limit: number;
  readonly gitDir: boolean;
}

export interface GrepMatch extends FoundPath {
  readonly line: number;
  /** In bytes, from 1: where the first match of the line begins. */
  readonly column: number;
  readonly text: string;
  /** The text is only a part of the line. */
  readonly cut: boolean;
}

export interface GrepResult {
  /** One for each line, in the order of paths. */
  readonly matches: readonly GrepMatch[];
  readonly truncated: boolean;
  readonly filesSearched: number;
  readonly binarySkipped: number;
  /** Lines of which only the beginning was searched: they are longer than 4 MiB. */
  readonly linesCut: number;
  readonly unreadable: number;
}

export const searchLimits = {
  globMatches: 1_000,
  grepMatches: 500,
  /** What a whole search may take. */
  deadlineMs: 60_000,
} as const;

/** A path as it came out of a sandbox, which may hold any bytes. */
export function foundPath(bytes: Buffer): FoundPath {
  if (isUtf8(bytes)) return { path: bytes.toString('utf8'), escaped: false };
  let path = '';
  for (let at = 0; at < bytes.length;) {
    const char = characterAt(bytes, at);
    path += char === '\\' ? '\\\\' : (char ?? `\\x${bytes.toString('hex', at, at + 1)}`);
    at += char === undefined ? 1 : Buffer.byteLength(char);
  }
  return { path, escaped: true };
}

/** Undefined where none begins. */
function characterAt(bytes: Buffer, at: number): string | undefined {
  const first = bytes[at] ?? 0;
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const character = bytes.subarray(at, at + length);
  return isUtf8(character) ? character.toString('utf8') : undefined;
}
