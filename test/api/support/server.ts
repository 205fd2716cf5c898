import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { buildApi } from '../../../src/api/app.ts';
import type { ApiOptions } from '../../../src/api/app.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { WorkspaceProvider } from '../../../src/domain/provider.ts';
import type { Store } from '../../../src/domain/store.ts';
import { newSecret } from '../../../src/domain/token.ts';
import type { PoolDefinition } from '../../../src/domain/warm-pool.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { startEngine } from '../../../src/engine/start-engine.ts';
import type { EngineOptions, RunningEngine } from '../../../src/engine/start-engine.ts';
import { MemoryProvider } from '../../../src/providers/memory/provider.ts';
import { openStore } from '../../../src/store/open.ts';
import { recordLog } from '../../support/log.ts';
import type { RecordedLog } from '../../support/log.ts';
import { prepareDataDir } from '../../support/prepared-data-dir.ts';
import { Client } from './client.ts';
import { Contract } from './contract.ts';
import type { OpenApiDocument } from './contract.ts';

export interface TestServer extends AsyncDisposable {
  readonly app: FastifyInstance;
  readonly url: string;
  readonly port: number;
  readonly admin: Client;
  readonly document: OpenApiDocument;
  readonly engine: RunningEngine;
  readonly recorded: RecordedLog;
  /** The sandboxes' directories. */
  readonly root: string;
  newClient(role: 'admin' | 'agent'): Promise<Client>;
  newWorkspace(client?: Client): Promise<string>;
}

/**
 * Where servers keep their state, and the sandboxes that it tells of: servers on one store find the same, as they
 * do on one engine. Opening one costs a while, so the servers of a test file share it.
 */
export interface TestStore extends AsyncDisposable {
  readonly store: Store;
  readonly provider: MemoryProvider;
  /** The sandboxes' directories. */
  readonly root: string;
  /** The admin token that every server on this store knows. */
  readonly secret: string;
}

export async function openTestStore(): Promise<TestStore> {
  await using opening = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'emergent-api-'));
  opening.defer(() => rm(directory, { recursive: true, force: true }));
  const { log } = recordLog();
  const root = join(directory, 'sandboxes');
  const dataDir = join(directory, 'data');
  await prepareDataDir(dataDir);
  const provider = opening.use(new MemoryProvider({ root }));
  const store = opening.use(await openStore({ dataDir, log }));
  const opened = opening.move();
  return {
    ...{ store, provider, root, secret: newSecret() },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

export interface TestServerOptions extends Partial<Pick<ApiOptions, 'clock' | 'limits' | 'ready'>> {
  /** Puts something between the engine and the memory provider. */
  readonly wrap?: (provider: WorkspaceProvider) => WorkspaceProvider;
  /** Puts something between the engine and the store. */
  readonly wrapStore?: (store: Store) => Store;
  /** Puts something between the API and the engine. */
  readonly wrapEngine?: (engine: Engine) => Engine;
  /** None unless told. */
  readonly warmPools?: readonly PoolDefinition[];
  /** How many workspaces may run at once; without it as many as a test file makes. */
  readonly maxConcurrent?: number;
  /** In place of the memory provider. */
  readonly providers?: readonly WorkspaceProvider[];
  /** What the engine differs in from the usual one. */
  readonly engine?: Partial<
    Pick<EngineOptions, 'warmPools' | 'defaults' | 'unconfigured' | 'clock' | 'allowUnsandboxed'>
  >;
}

/** The real thing on a free port: memory provider, PGlite, engine, API. */
export async function startServer(
  on: TestStore,
  options: TestServerOptions = {},
): Promise<TestServer> {
  await using starting = new AsyncDisposableStack();
  const { store, provider, root, secret } = on;
  const recorded = recordLog();
  const engine = starting.use(
    startEngine({
      ...settled,
      store: options.wrapStore?.(store) ?? store,
      providers: options.providers ?? [options.wrap?.(provider) ?? provider],
      maxConcurrent: options.maxConcurrent ?? 1000,
      warmPools: options.warmPools ?? [],
      clock: systemClock,
      log: recorded.log,
      ...options.engine,
    }),
  );
  await engine.tokens.installBootstrapAdmin(secret, 'test');

  const app = await buildApi({
    engine: options.wrapEngine?.(engine) ?? engine,
    log: recorded.log,
    clock: options.clock ?? systemClock,
    version: '1.2.3',
    ready: options.ready ?? (() => store.describe()),
    runningProcesses: () => engine.operationsInFlight,
    ...(options.limits && { limits: options.limits }),
  });
  starting.defer(() => app.close());
  starting.defer(() => {
    app.server.closeAllConnections();
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;

  const document = await documentOf(app, secret);
  const admin = new Client(url, secret, new Contract(document));
  const everything = starting.move();
  return {
    ...{ app, url, port, admin, document, engine, recorded, root },
    async newClient(role) {
      const created = await admin.json<{ token: string }>(201, 'POST', '/api/v1/tokens', {
        json: { name: `a test's ${role}`, role },
      });
      return admin.as(created.token);
    },
    async newWorkspace(client = admin) {
      return (await client.json<{ id: string }>(201, 'POST', '/api/v1/agent/workspaces')).id;
    },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

/** Not over the network, on which a test's limits may be too short for a loaded machine. */
async function documentOf(app: FastifyInstance, secret: string): Promise<OpenApiDocument> {
  const headers = { authorization: `Bearer ${secret}` };
  const answer = await app.inject({ method: 'GET', url: '/openapi.json', headers });
  if (answer.statusCode !== 200) throw new Error(answer.body);
  return answer.json();
}

const gib = 2 ** 30;
export const settled = {
  secretKey: Buffer.alloc(32, 7),
  defaults: {
    image: 'base',
    limits: { cpu: 2, memoryBytes: 4 * gib, diskBytes: 10 * gib },
    ttlSeconds: 30 * 24 * 3600,
    deploymentMode: 'self-hosted',
  },
  release: '1.2.3',
  allowUnsandboxed: true,
  eventRetentionSeconds: 30 * 24 * 3600,
  mcpSettings: { pingEveryMs: 30_000, shutdownGraceMs: 5_000 },
} as const;
