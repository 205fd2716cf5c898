import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Store } from '../../src/domain/store.ts';
import type { Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { readMigrations } from '../../src/store/migrations.ts';
import { storeOver } from '../../src/store/open.ts';
import { recordLog } from '../support/log.ts';
import { admissionTests } from './admission.suite.ts';
import { constraintTests } from './constraints.suite.ts';
import { eventTests } from './events.suite.ts';
import { expiryTests } from './expiry.suite.ts';
import { listTests } from './list.suite.ts';
import { hostingTests } from './hosting.suite.ts';
import { keptVolumesTests } from './kept-volumes.suite.ts';
import { mcpServerTests } from './mcp-servers.suite.ts';
import { migrationTests } from './migrations.suite.ts';
import { operatorTests } from './operators.suite.ts';
import { claimTests } from './claims.suite.ts';
import { poolTests } from './pools.suite.ts';
import { tokenTests } from './tokens.suite.ts';
import { workspaceTests } from './workspaces.suite.ts';

/** What each part of the suite works on: one migrated database, empty before every test. */
export interface Subject {
  readonly database: Database;
  readonly store: Store;
  /** One more server on the same database, closed after the test. */
  readonly another: () => Promise<Store>;
}

export interface Databases {
  readonly database: Database;
  /** The same database as another server reaches it. */
  readonly again: () => Promise<Database>;
}

/** Everything a store promises, whatever database is beneath it. `open` gives an empty database. */
export function storeSuite(name: string, open: () => Promise<Databases>): void {
  describe(`store on ${name}`, () => {
    let subject: Subject | undefined;
    const current = (): Subject => {
      if (!subject) throw new Error('the database is not open');
      return subject;
    };
    const others: Store[] = [];
    beforeAll(async () => {
      const { database, again } = await open();
      await migrate(database, await readMigrations(), recordLog().log);
      const another = async (): Promise<Store> => {
        const other = await storeOver(await again(), systemClock);
        others.push(other);
        return other;
      };
      subject = { database, store: await storeOver(database, systemClock), another };
    });
    beforeEach(async () => {
      // Not `truncate`, which makes the files of every table and index anew.
      await current().database.query(
        `with workspaces as (delete from kb.agent_workspaces),
              kept as (delete from kb.kept_volumes),
              pools as (delete from kb.warm_pools),
              events as (delete from kb.workspace_events),
              tokens as (delete from kb.api_tokens)
         select setval(pg_get_serial_sequence('kb.workspace_events', 'id'), 1, false)`,
      );
    });
    afterEach(async () => {
      for (const other of others.splice(0)) await other[Symbol.asyncDispose]();
    });
    afterAll(async () => {
      await subject?.store[Symbol.asyncDispose]();
    });

    describe('workspaces', () => {
      workspaceTests(current);
    });
    describe('operators', () => {
      operatorTests(current);
    });
    describe('admission', () => {
      admissionTests(current);
    });
    describe('pools', () => {
      poolTests(current);
    });
    describe('claims', () => {
      claimTests(current);
    });
    describe('MCP servers', () => {
      mcpServerTests(current);
    });
    describe('hosting', () => {
      hostingTests(current);
    });
    describe('kept volumes', () => {
      keptVolumesTests(current);
    });
    describe('expiry', () => {
      expiryTests(current);
    });
    describe('events', () => {
      eventTests(current);
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
