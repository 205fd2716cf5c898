import { readdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lockDirectory } from '../../src/store/directory-lock.ts';

const nextTurn = promisify(setImmediate);

describe('directory lock', () => {
  let directory = '';
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'emergent-directory-lock-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const refused = { code: 'store_unavailable', details: { pid: process.pid } };

  test('is free again after release, and releasing twice frees no one else', async () => {
    const first = await lockDirectory(directory, 'x');
    await expect(lockDirectory(directory, 'x')).rejects.toMatchObject(refused);
    first.release();
    const second = await lockDirectory(directory, 'x');
    first.release();
    await expect(lockDirectory(directory, 'x')).rejects.toMatchObject(refused);
    second.release();
  });

  test('is held until it is released, also when its owner forgot it', async () => {
    await lockDirectory(directory, 'x');
    await collectGarbage();
    await expect(lockDirectory(directory, 'x')).rejects.toMatchObject(refused);
  });

  test('leaves no journal behind for a later taker to recover', async () => {
    const lock = await lockDirectory(directory, 'x');
    expect((await readdir(directory)).toSorted()).toEqual(['x.holder', 'x.lock']);
    lock.release();
    expect(await readdir(directory)).toEqual(['x.lock']);
  });
});

/** Resolves once the collector has run, seen by a witness that nothing references. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const witness = new WeakRef({});
  // A WeakRef keeps its object until the current job ends.
  await nextTurn();
  gc();
  expect(witness.deref()).toBeUndefined();
  // Native handles are closed after the collection that found them.
  await nextTurn();
}
