import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import type { Store } from '../../src/domain/store.ts';
import type { Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { readMigrations } from '../../src/store/migrations.ts';
import { storeOver } from '../../src/store/open.ts';
import { recordLog } from '../support/log.ts';
import { constraintTests } from './constraints.suite.ts';
import { listTests } from './list.suite.ts';
import { migrationTests } from './migrations.suite.ts';
import { tokenTests } from './tokens.suite.ts';
import { workspaceTests } from './workspaces.suite.ts';

/** What each part of the suite works on: one migrated database, empty before every test. */
export interface Subject {
  readonly database: Database;
  readonly store: Store;
}

/** Everything a store promises, whatever database is beneath it. `open` gives an empty database. */
export function storeSuite(name: string, open: () => Promise<Database>): void {
  describe(`store on ${name}`, () => {
    let subject: Subject | undefined;
    const current = (): Subject => {
      if (!subject) throw new Error('the database is not open');
      return subject;
    };
    beforeAll(async () => {
      const database = await open();
      subject = { database, store: storeOver(database) };
      await migrate(database, await readMigrations(), recordLog().log);
    });
    beforeEach(async () => {
      await current().database.query('truncate kb.agent_workspaces, kb.api_tokens');
    });
    afterAll(async () => {
      await subject?.store[Symbol.asyncDispose]();
    });

    describe('workspaces', () => {
      workspaceTests(current);
    });
    describe('list', () => {
      listTests(current);
    });
    describe('constraints', () => {
      constraintTests(current);
    });
    describe('tokens', () => {
      tokenTests(current);
    });
    // Last: these replace the schema.
    describe('migrations', () => {
      migrationTests(current);
    });
  });
}
