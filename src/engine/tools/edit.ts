import { EmergentError } from '../../domain/errors.ts';
import type { FileContent, WrittenFile } from '../../domain/provider.ts';
import type { EditRequest, EditResult } from '../../domain/tools.ts';
import type { Target } from '../operation.ts';
import { countMatches, replaceMatches } from './byte-search.ts';

/** How often an edit begins again because somebody else has written the file meanwhile. */
const attempts = 3;
/** Matches are counted no further, for the answer that there are too many. */
const countedMatches = 10_000;
/** A file up to this size is kept from the search to the writing; a larger one is read twice. */
const keptBytes = 4 * 2 ** 20;

/**
 * Replaces text in a file, byte for byte: what is not replaced is not looked at. The new file goes only over the
 * version that was read, so a change made meanwhile is never lost.
 */
export async function editTool(
  target: Pick<Target, 'provider' | 'ref'>,
  request: EditRequest,
  signal: AbortSignal,
): Promise<EditResult> {
  if (request.oldString === '') {
    throw new EmergentError('invalid_value', 'old_string: must not be empty');
  }
  if (request.oldString === request.newString) {
    throw new EmergentError('invalid_value', 'new_string: must differ from old_string');
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await editOnce(target, request, signal);
    } catch (error) {
      const changed = error instanceof EmergentError && error.code === 'file_changed';
      if (!changed || attempt === attempts) throw error;
    }
  }
}

async function editOnce(
  { provider, ref }: Pick<Target, 'provider' | 'ref'>,
  { path, oldString, newString, replaceAll }: EditRequest,
  signal: AbortSignal,
): Promise<EditResult> {
  const needle = Buffer.from(oldString);
  const read = (): Promise<FileContent> => provider.readFile(ref, path, signal);
  const file = await read();
  const kept = new Kept(file.content);
  const replacements = replaceAll
    ? await countMatches(kept, needle, needle.length)
    : await countMatches(kept, needle, 1, countedMatches);
  refuseUnlessClear(replacements, replaceAll);

  const content = kept.whole ?? (await readAgain(file, read));
  const replaced = replaceMatches(content, needle, Buffer.from(newString));
  const options = file.version === null ? {} : { ifVersion: file.version };
  const written: WrittenFile = await provider.writeFile(ref, path, replaced, signal, options);
  return { path: written.path, size: written.size, replacements };
}

function refuseUnlessClear(matches: number, replaceAll: boolean): void {
  if (matches === 0) throw new EmergentError('no_match', 'oldString not found in content');
  if (matches === 1 || replaceAll) return;
  throw new EmergentError('multiple_matches', 'Found multiple matches for oldString', {
    details: { matches },
  });
}

/** The same content once more; if it is another by now, what was counted does not hold. */
async function readAgain(
  first: FileContent,
  read: () => Promise<FileContent>,
): Promise<AsyncIterable<Uint8Array>> {
  const again = await read();
  if (first.version !== null && again.version === first.version) return again.content;
  await again.content[Symbol.asyncIterator]().return?.();
  throw new EmergentError('file_changed', `${first.path} changed while it was edited`);
}

/** Hands content through and keeps it, as long as it is not too much. */
class Kept implements AsyncIterable<Uint8Array> {
  readonly #content: AsyncIterable<Uint8Array>;
  #chunks: Uint8Array[] | undefined = [];
  #bytes = 0;

  constructor(content: AsyncIterable<Uint8Array>) {
    this.#content = content;
  }

  /** Undefined where it was too much; to be asked after everything has been read. */
  get whole(): AsyncIterable<Uint8Array> | undefined {
    const chunks = this.#chunks;
    if (!chunks) return undefined;
    return (async function* () {
      yield* chunks;
    })();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const chunk of this.#content) {
      this.#bytes += chunk.length;
      if (this.#bytes > keptBytes) this.#chunks = undefined;
      this.#chunks?.push(chunk);
      yield chunk;
    }
  }
}
