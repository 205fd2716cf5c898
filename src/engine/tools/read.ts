import { EmergentError } from '../../domain/errors.ts';
import type { FileContent } from '../../domain/provider.ts';
import { readLimits } from '../../domain/tools.ts';
import type { ReadDirectory, ReadRequest, ReadResult } from '../../domain/tools.ts';
import type { Target } from '../operation.ts';
import { NameWindow } from './name-window.ts';
import { TextWindow } from './text-window.ts';

/** A part of a text file with its lines numbered; the names in a directory; of anything else only that it is there. */
export async function readTool(
  { provider, ref }: Pick<Target, 'provider' | 'ref'>,
  request: ReadRequest,
  signal: AbortSignal,
): Promise<ReadResult> {
  const file = await provider.readFile(ref, request.path, signal, { directories: true });
  return file.directory ? listed(file, request) : readText(file, request);
}

/** Reads no further than it shows, and to the end where that is not reached: only then it is known. */
async function readText(file: FileContent, request: ReadRequest): Promise<ReadResult> {
  const { path, size } = file;
  const window = new TextWindow(request);
  // A byte order mark is a character like any other: an edit must be able to name what is there.
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let seen = 0;
  try {
    for await (const chunk of file.content) {
      if (chunk.subarray(0, Math.max(0, readLimits.binaryBytes - seen)).includes(0)) {
        return { kind: 'binary', path, size };
      }
      seen += chunk.length;
      window.push(decoder.decode(chunk, { stream: true }));
      if (window.full && seen >= readLimits.binaryBytes) break;
    }
    if (!window.full) window.push(decoder.decode());
  } catch (error) {
    if (!isInvalidText(error)) throw error;
    return { kind: 'binary', path, size };
  }
  if (!window.full) window.end();
  if (!window.full) refuseBehindEnd(request.offset, window.lines, 'line');
  return {
    kind: 'text',
    path,
    size,
    content: window.content,
    lines: window.shown,
    totalLines: window.full ? null : window.lines,
    lineEnding: window.lineEnding,
    endsWithNewline: window.full ? null : window.endsWithNewline,
    truncated: window.full,
    nextOffset: window.full ? request.offset + window.shown : null,
  };
}

async function listed(file: FileContent, request: ReadRequest): Promise<ReadDirectory> {
  const window = new NameWindow(request);
  for await (const chunk of file.content) window.push(chunk);
  refuseBehindEnd(request.offset, window.total, 'entry');
  return {
    kind: 'directory',
    path: file.path,
    entries: window.entries,
    totalEntries: window.total,
    truncated: window.full,
    nextOffset: window.full ? request.offset + window.entries.length : null,
  };
}

/** What is empty has a beginning too. */
function refuseBehindEnd(offset: number, count: number, what: 'line' | 'entry'): void {
  if (offset <= Math.max(1, count)) return;
  const counted = what === 'line' ? 'lines' : 'entries';
  throw new EmergentError(
    'invalid_value',
    `offset: ${String(offset)} is behind the end, there are ${String(count)} ${counted}`,
    { details: { [counted]: count } },
  );
}

function isInvalidText(error: unknown): boolean {
  return (
    error instanceof TypeError &&
    'code' in error &&
    error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
  );
}
