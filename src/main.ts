import { readFile, rename, writeFile, mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { buildApi } from './api/app.ts';
import { systemClock } from './base/clock.ts';
import type { Clock } from './base/clock.ts';
import { withDeadline } from './base/deadline.ts';
import { createLog } from './base/log.ts';
import type { Log } from './base/log.ts';
import type { Config } from './config.ts';
import type { WorkspaceProvider } from './domain/provider.ts';
import type { Installation } from './domain/store.ts';
import { newSecret } from './domain/token.ts';
import { startEngine } from './engine/start-engine.ts';
import type { EngineOptions, RunningEngine } from './engine/start-engine.ts';
import type { PreparedHost } from './host/setup/prepare.ts';
import { GvisorProvider } from './providers/gvisor/provider.ts';
import { MemoryProvider } from './providers/memory/provider.ts';
import { openStore } from './store/open.ts';
import packageJson from '../package.json' with { type: 'json' };

/** What the server needs to know of the host. */
export type HostFacts = Pick<PreparedHost, 'dockerSocket' | 'image' | 'agentPaths' | 'runtime'>;

export interface AdminToken {
  readonly value: string;
  readonly source: 'generated' | 'file' | 'environment';
}

export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  readonly adminToken: AdminToken;
  readonly database: string;
}

const drainMs = 10_000;
const lastWordsMs = 3_000;

/**
 * Starts everything in order; what was started is stopped in reverse, also when a later part fails. `clock` is
 * what the lifecycle of workspaces runs by.
 */
export async function serve(
  config: Config,
  host: HostFacts,
  clock: Clock = systemClock,
): Promise<RunningServer> {
  await using starting = new AsyncDisposableStack();
  const log = createLog({ level: config.logLevel });

  await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
  const store = starting.use(await openStore({ ...databaseOf(config), clock, log }));
  const installation = await store.installation();
  const providers = createProviders(config, host, installation, log).map((provider) =>
    starting.use(provider),
  );
  const settled = engineOptions(config, host, installation);
  const engine = starting.use(startEngine({ ...settled, store, providers, clock, log }));
  const adminToken = await resolveAdminToken(config);
  await engine.tokens.installBootstrapAdmin(adminToken.value, `${hostname()}:${config.dataDir}`);

  const app = await buildApi({
    engine,
    log,
    clock: systemClock,
    version: packageJson.version,
    ready: () => store.describe(),
    runningProcesses: () => engine.operationsInFlight,
  });
  starting.defer(() => closeHttp(app, engine, log));
  const url = await app.listen({ host: config.host, port: config.port });
  const database = await store.describe();
  log.info('server ready', { url, database, installation: installation.id });

  const started = starting.move();
  return { url, adminToken, database, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

function databaseOf(config: Config): { dataDir: string; databaseUrl?: string } {
  const { dataDir, databaseUrl } = config;
  return databaseUrl === undefined ? { dataDir } : { dataDir, databaseUrl };
}

function createProviders(
  config: Config,
  host: HostFacts,
  installation: Installation,
  log: Log,
): readonly WorkspaceProvider[] {
  if (config.demo) return [new MemoryProvider({ root: join(config.dataDir, 'demo') })];
  return [
    new GvisorProvider({
      dockerHost:
        config.dockerHost ?? (host.dockerSocket ? `unix://${host.dockerSocket}` : undefined),
      installationId: installation.id,
      key: installation.key,
      runtime: host.runtime.state === 'present' ? host.runtime.name : 'runsc',
      image: config.defaultImage ?? host.image,
      agentPaths: host.agentPaths,
      nameservers: config.nameservers,
      clock: systemClock,
      log: log.child({ provider: 'gvisor' }),
    }),
  ];
}

function engineOptions(
  config: Config,
  host: HostFacts,
  installation: Installation,
): Pick<
  EngineOptions,
  'secretKey' | 'defaults' | 'maxConcurrent' | 'allowUnsandboxed' | 'eventRetentionSeconds'
> {
  return {
    secretKey:
      config.secretKey === undefined ? installation.key : Buffer.from(config.secretKey, 'utf8'),
    defaults: {
      image: config.defaultImage ?? host.image,
      limits: config.defaultLimits,
      ttlSeconds: config.defaultTtlSeconds,
      deploymentMode: config.deploymentMode,
    },
    maxConcurrent: config.maxConcurrent,
    allowUnsandboxed: config.allowUnsandboxed || config.demo,
    eventRetentionSeconds: config.eventRetentionSeconds,
  };
}

/**
 * No new requests; those in progress get `drainMs`. Then whoever still waits for a command is told where to
 * find it again, and what is left after that is cut off.
 */
async function closeHttp(app: FastifyInstance, engine: RunningEngine, log: Log): Promise<void> {
  const closing = app.close();
  const ended = await withDeadline('requests in progress', drainMs, () => closing).then(
    () => true,
    () => false,
  );
  if (ended) return;
  engine.leave();
  try {
    await withDeadline('closing the HTTP server', lastWordsMs, () => closing);
  } catch (error) {
    log.warn('requests were still running at shutdown', { err: error });
    app.server.closeAllConnections();
  }
}

/** From the environment, else from the data directory, else made now and kept there for the owner's eyes only. */
async function resolveAdminToken(config: Config): Promise<AdminToken> {
  const path = join(config.dataDir, 'admin-token');
  if (config.adminToken !== undefined) return { value: config.adminToken, source: 'environment' };
  const kept = (await readFile(path, 'utf8').catch(() => '')).trim();
  if (kept !== '') return { value: kept, source: 'file' };
  const value = newSecret();
  await keepSecret(path, value);
  return { value, source: 'generated' };
}

async function keepSecret(path: string, secret: string): Promise<void> {
  const draft = `${path}.new`;
  await writeFile(draft, `${secret}\n`, { mode: 0o600 });
  await rename(draft, path);
}
