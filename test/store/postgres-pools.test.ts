import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/domain/store.ts';
import type { Database } from '../../src/store/database.ts';
import { openStore } from '../../src/store/open.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { Admissions } from '../../src/store/workspaces/admission.ts';
import { transitionWorkspace } from '../../src/store/workspaces/transition.ts';
import { recordLog } from '../support/log.ts';
import { startPostgres, type PostgresServer } from '../support/postgres.ts';
import { change, newWorkspace, put } from './fixtures/workspaces.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server[Symbol.asyncDispose]());

/** What only sessions that overlap can show. */
describe('pools on PostgreSQL', () => {
  const open = (databaseUrl: string): Promise<Store> =>
    openStore({ databaseUrl, dataDir: '', log: recordLog().log });
  const openDatabase = (url: string): Database & AsyncDisposable => {
    const database = openPostgres({ url, log: recordLog().log });
    return { ...database, [Symbol.asyncDispose]: () => database.close() };
  };

  test('a waiting member that is just being retired is passed over, not waited for', async () => {
    const url = await server.cloneDatabase();
    await using store = await open(url);
    await using database = openDatabase(url);
    const retired = await put(store, { status: 'warm', createdAt: new Date('2026-01-01Z') });
    const next = await put(store, { status: 'warm', createdAt: new Date('2026-01-02Z') });
    const claim = (): Promise<unknown> => store.pools.claim('key-1', newWorkspace(), 100);
    await database.transaction(60_000, async (tx) => {
      const retire = change(['warm'], 'destroying');
      expect(await transitionWorkspace(tx, 0, retired.id, retire, new Date())).toBeDefined();
      expect(await claim()).toMatchObject({ id: next.id });
      expect(await claim()).toBeUndefined();
    });
    expect(await store.workspaces.get(retired.id)).toMatchObject({ status: 'destroying' });
  });

  test('where nobody waits a claim does not wait for an admission; making members never does', async () => {
    const url = await server.cloneDatabase();
    await using store = await open(url);
    await using database = openDatabase(url);
    await new Admissions(database).run(async () => {
      const claim = store.pools.claim('key-1', newWorkspace(), 100);
      expect(await claim).toBeUndefined();
      expect(await put(store, { status: 'warm' })).toMatchObject({ status: 'warm' });
    });
  });
});
