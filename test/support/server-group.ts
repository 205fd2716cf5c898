import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from './free-port.ts';
import { startPostgres } from './postgres.ts';
import { ServerProcess } from './server-process.ts';

/** One of them. */
export interface GroupServer {
  readonly url: string;
  readonly process: ServerProcess;
  /** The file that it logs to. */
  readonly log: string;
}

/**
 * Servers on one PostgreSQL, as behind a load balancer: each a process, with a connection pool, an event loop and loops
 * of its own. They need no Docker.
 */
export class ServerGroup implements AsyncDisposable {
  readonly token = randomBytes(24).toString('hex');
  readonly #started: AsyncDisposableStack;
  readonly #directory: string;
  readonly #databaseUrl: string;
  readonly sql: pg.Client;

  private constructor(
    started: AsyncDisposableStack,
    directory: string,
    databaseUrl: string,
    sql: pg.Client,
  ) {
    this.#started = started;
    this.#directory = directory;
    this.#databaseUrl = databaseUrl;
    this.sql = sql;
  }

  static async start(): Promise<ServerGroup> {
    await using starting = new AsyncDisposableStack();
    const postgres = starting.use(await startPostgres());
    const databaseUrl = await postgres.cloneDatabase();
    const directory = await mkdtemp(join(tmpdir(), 'emergent-group-'));
    starting.defer(() => rm(directory, { recursive: true, force: true }));
    const sql = new pg.Client({ connectionString: databaseUrl, query_timeout: 60_000 });
    await sql.connect();
    starting.defer(() => sql.end());
    return new ServerGroup(starting.move(), directory, databaseUrl, sql);
  }

  /** A server more, ready; `env` may depend on its address. */
  async serve(
    name: string,
    env: (url: string) => Readonly<Record<string, string>> = () => ({}),
  ): Promise<GroupServer> {
    const port = String(await freePort());
    const url = `http://127.0.0.1:${port}`;
    const log = join(this.#directory, `${name}.log`);
    const process = await ServerProcess.spawn({
      log,
      env: {
        DATABASE_URL: this.#databaseUrl,
        EMERGENT_ADMIN_TOKEN: this.token,
        EMERGENT_DATA_DIR: join(this.#directory, name),
        EMERGENT_DEMO: '1',
        EMERGENT_PORT: port,
        // Each sees only its own sandboxes, and would take the others' for lost.
        EMERGENT_RECONCILE_INTERVAL: '1h',
        ...env(url),
      },
    });
    this.#started.use(process);
    await process.ready;
    return { url, process, log };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#started.disposeAsync();
  }
}
