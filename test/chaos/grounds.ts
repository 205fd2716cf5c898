import type Docker from 'dockerode';
import { runOk } from '../../src/host/run.ts';
import type { Stray } from '../support/engine-strays.ts';
import { startPrivateEngine } from '../support/engine.ts';
import { testHost } from '../support/host.ts';
import { startPostgres } from '../support/postgres.ts';
import type { Breakable } from './faults.ts';

/** Where the server under test runs: an engine and a database that nobody else uses, to be broken at will. */
export interface Grounds {
  readonly engine: Breakable & {
    readonly socket: string;
    /** The network namespace that is its host's network; the server runs in it, too. */
    readonly namespace: string;
    readonly docker: Docker;
    /** As an administrator stops it; its containers go on. */
    stop(): Promise<void>;
    /** Containers that it has lost sight of. */
    strays(): Promise<readonly Stray[]>;
    /** Those of workspaces in its host's firewall. */
    rules(): Promise<readonly string[]>;
  };
  /** None: PGlite, inside the server. */
  readonly database?: Breakable & { readonly url: string };
}

export type DatabaseKind = 'pglite' | 'postgres';

/** An engine, and where asked a PostgreSQL server, that were started for this and go with it. */
export async function openGrounds(database: DatabaseKind): Promise<Grounds & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const { image } = await testHost();
  const engine = opening.use(
    await startPrivateEngine({ images: [image], network: true, iptables: true }),
  );
  await inNamespace(engine.namespace, 'ip link set lo up');
  const grounds: Grounds = {
    engine: {
      namespace: engine.namespace,
      socket: engine.socket,
      docker: engine.docker,
      crash: () => engine.kill(),
      stop: () => engine.stop(),
      start: () => engine.start(),
      strays: () => engine.strays(),
      rules: () => workspaceRules(engine.namespace),
    },
  };
  const stored = database === 'postgres' ? opening.use(await openDatabase()) : undefined;
  const opened = opening.move();
  return {
    ...grounds,
    ...(stored && { database: stored }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Both families, as far as they are ours. */
async function workspaceRules(namespace: string): Promise<readonly string[]> {
  const listing = await inNamespace(namespace, 'iptables -w -S && ip6tables -w -S');
  return listing.split('\n').filter((line) => line.includes('EMERGENT'));
}

async function inNamespace(namespace: string, script: string): Promise<string> {
  const argv = ['nsenter', `--net=${namespace}`, 'sh', '-c', script];
  return (await runOk(argv, { timeoutMs: 20_000 })).stdout;
}

export async function openDatabase(): Promise<NonNullable<Grounds['database']> & AsyncDisposable> {
  const postgres = await startPostgres();
  return {
    // No network leads to it from where the server runs.
    url: postgres.socketUrl(await postgres.createDatabase()),
    crash: () => postgres.stop('immediate'),
    start: () => postgres.start(),
    [Symbol.asyncDispose]: () => postgres[Symbol.asyncDispose](),
  };
}
