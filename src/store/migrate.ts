import type { Log } from '../base/log.ts';
import { EmergentError } from '../domain/errors.ts';
import type { Database, Row, Transaction } from './database.ts';
import type { Migration } from './migrations.ts';
import { integer, text } from './row.ts';

/** One migration, and the wait for another server that runs one. */
const migrationDeadlineMs = 300_000;

/** Any number that nothing else in the database uses. */
const advisoryLock = '7305809140155346021';

/**
 * Brings the schema to the newest of `migrations`, each in a transaction of its own. Servers that start at
 * once take turns; a database that this code does not know is refused untouched.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  log: Log,
): Promise<void> {
  let applied: Migration | undefined;
  do {
    applied = await database.transaction(migrationDeadlineMs, (tx) => applyNext(tx, migrations));
    if (applied)
      log.info('migrated the database', { version: applied.version, migration: applied.name });
  } while (applied);
}

/**
 * The lock comes first and lasts until the commit. Two servers would otherwise both find the same migration
 * missing; the second one reads the list only after the first has committed.
 */
async function applyNext(
  tx: Transaction,
  migrations: readonly Migration[],
): Promise<Migration | undefined> {
  await tx.query('select pg_advisory_xact_lock($1::bigint)', [advisoryLock]);
  const recorded = await readRecorded(tx);
  refuseUnknown(recorded, migrations);
  const next = migrations[recorded.length];
  if (!next) return undefined;
  await tx.script(next.sql);
  await tx.query('insert into kb.schema_migrations (version, name, checksum) values ($1, $2, $3)', [
    next.version,
    next.name,
    next.checksum,
  ]);
  return next;
}

/** Creates only what is missing: a role without the right to create still runs on a finished schema. */
async function readRecorded(tx: Transaction): Promise<readonly Row[]> {
  const [found] = await tx.query(
    `select to_regclass('kb.schema_migrations') is not null as present`,
  );
  if (found?.['present'] !== true) {
    await tx.script(`
      create schema if not exists kb;
      create table kb.schema_migrations (
        version integer primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null default now()
      );
    `);
  }
  return tx.query('select version, name, checksum from kb.schema_migrations order by version');
}

function refuseUnknown(recorded: readonly Row[], migrations: readonly Migration[]): void {
  const newest = recorded.at(-1);
  if (newest && integer(newest, 'version') > migrations.length) {
    throw new EmergentError(
      'store_unavailable',
      `the database has schema version ${String(integer(newest, 'version'))} (${text(newest, 'name')}), ` +
        `newer than the ${String(migrations.length)} that this server knows`,
      { hint: 'Start the newer server again, or restore a backup taken before its upgrade.' },
    );
  }
  for (const [index, row] of recorded.entries()) {
    const known = migrations[index];
    if (integer(row, 'version') !== known?.version || text(row, 'checksum') !== known.checksum) {
      throw new EmergentError(
        'store_unavailable',
        `the database's migration ${String(integer(row, 'version'))} (${text(row, 'name')}) ` +
          'is not the one that this server knows',
        {
          hint: 'This database belongs to another build; use the server that made it, or another database.',
        },
      );
    }
  }
}
