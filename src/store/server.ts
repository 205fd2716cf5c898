import type { Database, HeldLock, Statement } from './database.ts';
import { onlyRow } from './only-row.ts';
import { integer } from './row.ts';

/** This start of this server, as the other servers on the database see it. */
export interface ServerIdentity extends Pick<HeldLock, 'settled'>, AsyncDisposable {
  readonly number: number;
}

/** Any number that no other two-part advisory lock in the database uses. */
const namespace = 1_701_671_283;

/**
 * Takes a number and shows itself alive under it, and reachable at `url` where it has one. Race: a sequence gives no
 * number twice, and the lock, which one session can hold, would be waited for in vain by a second server with the same
 * one.
 */
export async function registerServer(database: Database, url?: string): Promise<ServerIdentity> {
  const rows = await database.query(`select nextval('kb.server_number') as number`);
  const number = integer(onlyRow(rows), 'number');
  const announce = url === undefined ? undefined : announcement(number, url);
  const lock = await database.hold(namespace, number, announce);
  return {
    number,
    settled: () => lock.settled(),
    async [Symbol.asyncDispose]() {
      try {
        if (announce) await database.query(withdrawal, [number]);
      } catch {
        // Without the lock the address counts for nobody, and whoever announces the next one sweeps it.
      } finally {
        await lock[Symbol.asyncDispose]();
      }
    },
  };
}

/**
 * Sweeps the addresses of the dead as well. Race: one that is only cut off announces itself again when it takes its
 * lock again.
 */
function announcement(number: number, url: string): Statement {
  return {
    sql: `with swept as (
            delete from kb.server_addresses as address
             where number <> $1 and not ${aliveServer('address.number')}
          )
          insert into kb.server_addresses (number, url)
          values ($1, $2)
              on conflict (number) do update set url = excluded.url`,
    params: [number, url],
  };
}

const withdrawal = 'delete from kb.server_addresses where number = $1';

/**
 * Whether the server whose number is in `column` is alive, as an SQL condition. Locks are not part of a
 * statement's snapshot: this tells what is so at the moment, also when a row that changed meanwhile is checked
 * again.
 */
export function aliveServer(column: string): string {
  return `exists (
    select 1
      from pg_locks
     where locktype = 'advisory'
       and database = (select oid from pg_database where datname = current_database())
       and classid = ${String(namespace)}
       and objid = ${column}
       and objsubid = 2
       and granted
  )`;
}
