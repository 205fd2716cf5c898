import { randomBytes } from 'node:crypto';
import { chmod, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { createWriteStream } from 'node:fs';
import type { Stats } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { basename, dirname, join, posix } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { reasonOf } from '../../base/reason.ts';
import { Failure, systemCode } from '../failure.ts';
import { asFailure } from '../http/failures.ts';
import type { FileInfo } from '../http/api-types.ts';
import type { ApiClient } from '../http/client.ts';
import type { LocalSide, RemoteSide } from '../input/cp-sides.ts';
import { write } from '../terminal/output.ts';
import { Progress } from '../terminal/progress.ts';
import { resolveId } from './ids.ts';
import { shellWord } from './quote.ts';

/** Streams a file out of a workspace, to a local file or to standard output. */
export async function download(
  client: ApiClient,
  from: RemoteSide,
  to: LocalSide,
  signal: AbortSignal,
): Promise<FileInfo> {
  const id = await resolveId(client, from.id);
  const answer = await client
    .readFile(id, from.path === '' ? '.' : from.path, signal)
    .catch(withTarHint(from));
  const size = sizeOf(answer);
  const progress = new Progress(from.path, size);
  try {
    if (to.path === '-') return await toStandardOutput(answer, progress, signal);
    return await toFile(answer, progress, await localTarget(to.path, from.path), signal);
  } catch (error) {
    throw isLocal(error) ? error : asFailure(error, client.origin, signal);
  } finally {
    answer.destroy();
  }
}

function sizeOf(answer: IncomingMessage): number | undefined {
  const text = answer.headers['content-length'];
  return text === undefined ? undefined : Number(text);
}

async function toStandardOutput(
  answer: Readable,
  progress: Progress,
  signal: AbortSignal,
): Promise<FileInfo> {
  await pipeline(
    progress.counting(answer),
    async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) await write(process.stdout, chunk);
    },
    { signal },
  );
  return { path: '-', size: progress.bytes };
}

interface Target {
  readonly path: string;
  readonly existing: Stats | undefined;
}

/** An existing directory takes the file under its own name; a symbolic link is followed, not replaced. */
async function localTarget(path: string, remotePath: string): Promise<Target> {
  const facts = await statIfThere(path);
  if (facts?.isDirectory() === true || path.endsWith('/')) {
    const inside = join(path, posix.basename(remotePath));
    return { path: inside, existing: await statIfThere(inside) };
  }
  return { path: facts ? await realpath(path) : path, existing: facts };
}

/** Atomic for regular files: the old file or the whole new one. A device or a pipe is written as it is. */
async function toFile(
  answer: Readable,
  progress: Progress,
  target: Target,
  signal: AbortSignal,
): Promise<FileInfo> {
  const { path, existing } = target;
  if (existing && !existing.isFile()) {
    await pipeline(progress.counting(answer), createWriteStream(path), {
      signal,
    });
    return { path, size: progress.bytes };
  }
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`);
  const handle = await open(draft, 'wx').catch((error: unknown) => {
    throw cannotWrite(path, error);
  });
  try {
    await pipeline(progress.counting(answer), handle.createWriteStream({ flush: true }), {
      signal,
    });
    if (existing) await chmod(draft, existing.mode & 0o7777);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  return { path, size: progress.bytes };
}

async function statIfThere(path: string): Promise<Stats | undefined> {
  return stat(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw cannotWrite(path, error);
  });
}

function cannotWrite(path: string, error: unknown): Failure {
  const missing = systemCode(error) === 'ENOENT';
  const reason = missing ? `there is no directory ${dirname(path)}` : reasonOf(error);
  return new Failure('local_file', `cannot write ${path}: ${reason}`, { cause: error });
}

const localCodes = new Set(['ENOSPC', 'EACCES', 'EDQUOT', 'EFBIG', 'EROFS', 'EISDIR', 'EXDEV']);

/** A failure of this machine's disk is not one of the connection. */
function isLocal(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof Failure) return true;
  return error.name === 'BrokenPipe' || localCodes.has(systemCode(error) ?? '');
}

function withTarHint(from: RemoteSide): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof Failure) || error.code !== 'is_directory') throw error;
    const path = from.path === '' ? '/workspace' : from.path;
    throw new Failure(error.code, error.message, {
      hint: `Pack it: emergent exec ${from.id} -- tar -C ${shellWord(path)} -cf - . > files.tar`,
      cause: error,
    });
  };
}
