import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { reasonOf } from '../../base/reason.ts';
import { Failure, systemCode } from '../failure.ts';
import { remoteTarget } from '../input/cp-sides.ts';
import type { LocalSide, RemoteSide } from '../input/cp-sides.ts';
import type { FileInfo } from '../http/api-types.ts';
import type { ApiClient } from '../http/client.ts';
import { Progress } from '../terminal/progress.ts';
import { resolveId } from './ids.ts';
import { shellWord } from './quote.ts';

/** Streams a local file, or standard input, into a workspace. */
export async function upload(
  client: ApiClient,
  from: LocalSide,
  to: RemoteSide,
  signal: AbortSignal,
): Promise<FileInfo> {
  const path = remoteTarget(from, to);
  await using source = await openSource(from.path, to);
  const id = await resolveId(client, to.id);
  const progress = new Progress(from.path, source.size);
  const content = Readable.from(progress.counting(source.content), { objectMode: false });
  // Awaited here: the source closes when this function returns.
  return await client.writeFile(id, path, { content, size: source.size }, signal);
}

interface Source extends AsyncDisposable {
  readonly content: AsyncIterable<Buffer>;
  /** Undefined where only the end tells. */
  readonly size: number | undefined;
}

async function openSource(path: string, to: RemoteSide): Promise<Source> {
  if (path === '-') {
    return { content: process.stdin, size: undefined, [Symbol.asyncDispose]: async () => {} };
  }
  const handle = await open(path, 'r').catch((error: unknown) => {
    throw cannotRead(path, error);
  });
  try {
    const facts = await handle.stat();
    if (facts.isDirectory()) throw directorySource(path, to);
    const size = facts.isFile() ? facts.size : undefined;
    return {
      content: readBytes(handle, path, size),
      size,
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Exactly the announced number of bytes, also when the file grows meanwhile; one that shrinks is an error. */
async function* readBytes(
  handle: FileHandle,
  path: string,
  size: number | undefined,
): AsyncGenerator<Buffer> {
  let left = size ?? Number.POSITIVE_INFINITY;
  while (left > 0) {
    const buffer = Buffer.allocUnsafe(Math.min(left, 256 * 1024));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length).catch((error: unknown) => {
      throw cannotRead(path, error);
    });
    if (bytesRead === 0) break;
    left -= bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
  if (size !== undefined && left > 0) {
    throw new Failure('file_changed', `${path} became shorter while it was read`, {
      hint: 'Copy it again when nothing writes to it.',
    });
  }
}

function cannotRead(path: string, error: unknown): Failure {
  const missing = systemCode(error) === 'ENOENT';
  return new Failure(
    'local_file',
    missing ? `there is no file ${path}` : `${path}: ${reasonOf(error)}`,
    {
      cause: error,
    },
  );
}

function directorySource(path: string, to: RemoteSide): Failure {
  const target = to.path === '' ? '/workspace' : to.path;
  return new Failure('is_directory', `${path} is a directory; cp copies one file`, {
    hint:
      `Pack it: tar -C ${shellWord(path)} -cf - . | emergent cp - ${to.id}:/tmp/in.tar && ` +
      `emergent exec ${to.id} -- tar -C ${shellWord(target)} -xf /tmp/in.tar`,
  });
}
