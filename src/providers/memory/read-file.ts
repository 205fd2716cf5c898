import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { EmergentError } from '../../domain/errors.ts';
import type { FileContent, ReadOptions } from '../../domain/provider.ts';
import { toFileError } from './file-errors.ts';
import { versionOf } from './file-version.ts';
import { listDirectory } from './list-directory.ts';
import { realHostPath, sandboxPath } from './paths.ts';

const chunkBytes = 64 * 1024;

export async function readSandboxFile(
  directory: string,
  path: string,
  { directories = false }: ReadOptions = {},
): Promise<FileContent> {
  const real = await realHostPath(directory, path);
  // Without O_NONBLOCK, opening a FIFO waits for a writer that may never come.
  const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK).catch(
    (error: unknown) => {
      throw toFileError(error, path);
    },
  );
  try {
    const stat = await handle.stat({ bigint: true });
    if (stat.isDirectory()) {
      if (!directories) throw new EmergentError('is_directory', `${path} is a directory`);
      await handle.close();
      return await listDirectory(directory, path);
    }
    if (!stat.isFile()) throw new EmergentError('invalid_value', `${path} is not a regular file`);
    const size = Number(stat.size);
    return {
      path: sandboxPath(path),
      size,
      version: versionOf(stat),
      content: { [Symbol.asyncIterator]: () => new Chunks(handle, path, size) },
    };
  } catch (error) {
    await handle.close();
    throw toFileError(error, path);
  }
}

/**
 * Exactly the announced number of bytes. An iterator of its own and not a generator: `return` on a generator
 * that was never started runs no `finally`, and would leave the file open.
 */
class Chunks implements AsyncIterator<Uint8Array> {
  readonly #handle: FileHandle;
  readonly #path: string;
  #left: number;

  constructor(handle: FileHandle, path: string, size: number) {
    this.#handle = handle;
    this.#path = path;
    this.#left = size;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#left === 0) return this.return();
    try {
      const buffer = new Uint8Array(Math.min(chunkBytes, this.#left));
      const { bytesRead } = await this.#handle.read(buffer);
      if (bytesRead === 0) {
        throw new EmergentError('wrong_state', `${this.#path} shrank while it was read`);
      }
      this.#left -= bytesRead;
      return { done: false, value: buffer.subarray(0, bytesRead) };
    } catch (error) {
      await this.return();
      throw toFileError(error, this.#path);
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#left = 0;
    await this.#handle.close();
    return { done: true, value: undefined };
  }
}
