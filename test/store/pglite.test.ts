import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { Database, Row } from '../../src/store/database.ts';
import { openStore } from '../../src/store/open.ts';
import { openPglite } from '../../src/store/pglite.ts';
import { recordLog } from '../support/log.ts';
import { prepareDataDir } from '../support/prepared-data-dir.ts';
import { put } from './fixtures/workspaces.ts';
import { storeSuite } from './suite.ts';

const directory = await mkdtemp(join(tmpdir(), 'emergent-store-'));
afterAll(() => rm(directory, { recursive: true, force: true }));

storeSuite('PGlite', async () => {
  const dataDir = join(directory, 'suite');
  await prepareDataDir(dataDir);
  const database = await openPglite({ dataDir });
  // There is one session; the first server's store closes it.
  const again = { ...database, close: () => Promise.resolve() };
  return { database, again: () => Promise.resolve(again) };
});

describe('PGlite', () => {
  test('rows outlive the process that wrote them', async () => {
    const options = { dataDir: join(directory, 'reopen'), log: recordLog().log };
    await prepareDataDir(options.dataDir);
    const first = await openStore(options);
    expect(await first.describe()).toMatch(/^PGlite \d+\.\d+ in .+\/reopen\/pglite$/);
    const row = await put(first);
    await first[Symbol.asyncDispose]();
    await first[Symbol.asyncDispose]();
    await expect(first.workspaces.get(row.id)).rejects.toMatchObject({ code: 'store_unavailable' });

    await using second = await openStore(options);
    expect(await second.workspaces.get(row.id)).toEqual(row);
  });

  test('a directory that cannot be opened says which and why', async () => {
    await expect(
      openStore({ dataDir: '/dev/null/data', log: recordLog().log }),
    ).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('/dev/null/data') as unknown,
    });
  });

  describe('deadlines', () => {
    const open = async (): Promise<Database & AsyncDisposable> => {
      const database = await openPglite({
        dataDir: join(directory, 'reopen'),
        deadlines: { turnMs: 100, connectMs: 100, queryMs: 100, closeMs: 60_000 },
      });
      return { ...database, [Symbol.asyncDispose]: () => database.close() };
    };

    /** Not bound by the short deadline, which a loaded machine might miss. */
    const unhurried = (database: Database, sql: string): Promise<readonly Row[]> =>
      database.transaction(60_000, (tx) => tx.query(sql));

    test('a query that gets no turn fails in time, and the next one works', async () => {
      await using database = await open();
      const gate = Promise.withResolvers<void>();
      const started = Promise.withResolvers<void>();
      const busy = database.transaction(60_000, async () => {
        started.resolve();
        await gate.promise;
      });
      await started.promise;
      await expect(database.query('select 1 as a')).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringContaining('within 100 ms') as unknown,
      });
      gate.resolve();
      await busy;
      expect(await unhurried(database, 'select 1 as a')).toEqual([{ a: 1 }]);
    });

    test('a transaction that takes too long is rolled back', async () => {
      await using database = await open();
      await unhurried(database, 'create temporary table t (a integer)');
      const gate = Promise.withResolvers<void>();
      const late = database.transaction(100, async (tx) => {
        await tx.query('insert into t values (1)');
        await gate.promise;
      });
      await expect(late).rejects.toMatchObject({ code: 'store_unavailable' });
      gate.resolve();
      expect(await unhurried(database, 'select * from t')).toEqual([]);
    });

    test('a fault in the work of a transaction is not blamed on the database', async () => {
      await using database = await open();
      const fault = new TypeError('a fault of the caller');
      await expect(database.transaction(1_000, () => Promise.reject(fault))).rejects.toBe(fault);
    });
  });
});
