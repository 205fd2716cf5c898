import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import pg from 'pg';
import { withDeadline } from '../../src/base/deadline.ts';
import { createLog } from '../../src/base/log.ts';
import { openStore } from '../../src/store/open.ts';
import { freePort } from './free-port.ts';

const run = promisify(execFile);

/**
 * A real PostgreSQL server of the test's own: in a temporary directory, on a unix socket and a free loopback
 * port. It ends and its directory goes when it is disposed of, and also when the test process dies.
 */
export interface PostgresServer extends AsyncDisposable {
  /** The URL of a new, empty database. */
  createDatabase(): Promise<string>;
  /** The URL of a new database with this server's schema: a copy of a template made once. */
  cloneDatabase(): Promise<string>;
  /** The same database over the unix socket. */
  socketUrl(url: string): string;
  /**
   * Ends the server as an administrator would, dropping its connections; `immediate` as a crash would, so that
   * the next start has to recover. The data stay.
   */
  stop(mode?: 'fast' | 'immediate'): Promise<void>;
  /** On the same port, after `stop`. */
  start(): Promise<void>;
}

const superuser = 'emergent';

export async function startPostgres(): Promise<PostgresServer> {
  const binaries = await findBinaries();
  const account = await serverAccount();
  const directory = await mkdtemp(join(tmpdir(), 'emergent-pg-'));
  const data = join(directory, 'data');
  try {
    await mkdir(data, { mode: 0o700 });
    if (account) {
      await chown(directory, account.uid, account.gid);
      await chown(data, account.uid, account.gid);
    }
    await run(
      join(binaries, 'initdb'),
      ['-D', data, '-U', superuser, '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'],
      { ...account, cwd: directory, timeout: 120_000 },
    );
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
  const port = await freePort();
  const command = [
    ...[join(binaries, 'postgres'), '-D', data, '-p', String(port), '-k', directory],
    ...['-h', '127.0.0.1', '-F', '-c', 'max_connections=200'],
  ];
  const launch = (): Promise<Supervised> => supervise(command, directory, account);
  let server: Supervised | undefined = await launch();

  const url = (database: string): string =>
    `postgresql://${superuser}@127.0.0.1:${String(port)}/${database}`;
  const create = async (template: string): Promise<string> => {
    const name = `test_${randomUUID().replaceAll('-', '')}`;
    await administer(url('postgres'), `create database ${name} template ${template}`);
    return name;
  };
  let template: Promise<string> | undefined;
  const migratedTemplate = async (): Promise<string> => {
    const name = await create('template1');
    const log = createLog({ level: 'silent' });
    // Closed before it is copied: PostgreSQL copies no database that is in use.
    await (await openStore({ databaseUrl: url(name), dataDir: '', log }))[Symbol.asyncDispose]();
    return name;
  };
  return {
    createDatabase: async () => url(await create('template1')),
    async cloneDatabase() {
      template ??= migratedTemplate();
      return url(await create(await template));
    },
    socketUrl: (tcp) =>
      `postgresql:///${new URL(tcp).pathname.slice(1)}?host=${directory}&port=${String(port)}&user=${superuser}`,
    async stop(mode = 'fast') {
      await server?.end(mode === 'fast' ? 'keep' : 'crash');
      server = undefined;
    },
    async start() {
      server ??= await launch();
    },
    async [Symbol.asyncDispose]() {
      await server?.end('remove');
      server = undefined;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function administer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    query_timeout: 60_000,
  });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Debian keeps the server's programs outside the PATH, one directory per major version: the newest wins. */
async function findBinaries(): Promise<string> {
  const debian = await readdir('/usr/lib/postgresql').catch(() => []);
  const versions = debian.sort((a, b) => Number(b) - Number(a));
  const candidates = [
    ...versions.map((version) => join('/usr/lib/postgresql', version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter).filter((entry) => entry !== ''),
  ];
  for (const candidate of candidates) {
    const files: string[] = await readdir(candidate).catch(() => []);
    if (files.includes('initdb') && files.includes('postgres')) return candidate;
  }
  throw new Error(
    'These tests need a PostgreSQL server: no initdb in /usr/lib/postgresql/*/bin nor on the PATH. ' +
      "Install Debian's `postgresql` package, or put the server's programs on the PATH.",
  );
}

interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root, so root lends it another account. */
async function serverAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
      return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
    } catch {
      // No such account here; the next one may exist.
    }
  }
  throw new Error(
    'PostgreSQL does not run as root, and there is no account `postgres` or `nobody`.',
  );
}

interface Supervised {
  end(then: 'keep' | 'crash' | 'remove'): Promise<void>;
}

/**
 * The server's parent is a shell that reads the pipe from this process. The pipe ends with this process,
 * however it ends, and then the shell stops the server and removes its directory.
 */
const supervisor = `
directory=$1; shift
"$@" </dev/null & server=$!
then=remove
read -r then
if [ "$then" = crash ]; then signal=QUIT; else signal=INT; fi
kill -s "$signal" "$server" 2>/dev/null
wait "$server"
case $then in keep | crash) ;; *) rm -rf "$directory" ;; esac
`;

async function supervise(
  command: readonly string[],
  directory: string,
  account: Account | undefined,
): Promise<Supervised> {
  const shell = spawn('/bin/sh', ['-c', supervisor, 'supervisor', directory, ...command], {
    ...account,
    cwd: '/',
    // A session of its own: Ctrl-C must not end the shell before it has cleaned up.
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const exited = once(shell, 'exit');
  const end: Supervised['end'] = async (then) => {
    shell.stdin.end(`${then}\n`);
    await withDeadline('stopping PostgreSQL', 60_000, () => exited);
  };
  try {
    await withDeadline('starting PostgreSQL', 60_000, () => ready(shell.stderr));
  } catch (error) {
    await end('remove');
    throw error;
  }
  return { end };
}

/** What clients that come too early are told, in the log too. */
const startingUp = /the database system is (starting up|not yet accepting connections|in recovery)/;

/** Resolves at the log line that says so. Goes on reading afterwards: a full pipe would stop the server. */
async function ready(log: Readable): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const seen: string[] = [];
  createInterface({ input: log })
    .on('line', (line) => {
      if (seen.length < 100) seen.push(line);
      if (line.includes('database system is ready to accept connections')) resolve();
      if (line.includes('FATAL:') && !startingUp.test(line))
        reject(new Error(`PostgreSQL did not start:\n${seen.join('\n')}`));
    })
    .on('close', () => {
      reject(new Error(`PostgreSQL ended before it was ready:\n${seen.join('\n')}`));
    });
  await promise;
}
