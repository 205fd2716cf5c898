import { readFile, rename, writeFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildApi } from './api/app.ts';
import { systemClock } from './base/clock.ts';
import { withDeadline } from './base/deadline.ts';
import { createLog } from './base/log.ts';
import type { Log } from './base/log.ts';
import type { Config } from './config.ts';
import type { WorkspaceProvider } from './domain/provider.ts';
import type { Installation, Store } from './domain/store.ts';
import { newSecret } from './domain/token.ts';
import type { Engine } from './engine/engine.ts';
import { Providers } from './engine/providers.ts';
import { RunningProcesses } from './engine/running-processes.ts';
import { Tokens } from './engine/tokens.ts';
import { Tools } from './engine/tools.ts';
import { Workspaces } from './engine/workspaces.ts';
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

const closeDeadlineMs = 10_000;

/** Starts everything in order; what was started is stopped in reverse, also when a later part fails. */
export async function serve(config: Config, host: HostFacts): Promise<RunningServer> {
  await using starting = new AsyncDisposableStack();
  const log = createLog({ level: config.logLevel });

  await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
  const store = starting.use(await openStore({ ...databaseOf(config), log }));
  const installation = await store.installation();
  const providers = createProviders(config, host, installation, log).map((provider) =>
    starting.use(provider),
  );
  const running = new RunningProcesses();
  const engine = createEngine(config, host, store, providers, running, log);
  const adminToken = await resolveAdminToken(config);
  await engine.tokens.installBootstrapAdmin(adminToken.value);

  const app = await buildApi({
    engine,
    log,
    clock: systemClock,
    version: packageJson.version,
    ready: () => store.describe(),
    runningProcesses: () => running.count,
  });
  starting.defer(async () => {
    await withDeadline('closing the HTTP server', closeDeadlineMs, () => app.close()).catch(
      (error: unknown) => {
        log.warn('requests were still running at shutdown', { err: error });
        app.server.closeAllConnections();
      },
    );
  });
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

function createEngine(
  config: Config,
  host: HostFacts,
  store: Store,
  providers: readonly WorkspaceProvider[],
  running: RunningProcesses,
  log: Log,
): Engine {
  const workspaces = new Workspaces({
    store: store.workspaces,
    providers: new Providers(providers, systemClock),
    defaults: {
      image: config.defaultImage ?? host.image,
      limits: config.defaultLimits,
      ttlSeconds: config.defaultTtlSeconds,
      deploymentMode: config.deploymentMode,
    },
    allowUnsandboxed: config.allowUnsandboxed || config.demo,
    clock: systemClock,
    log,
  });
  return {
    workspaces,
    tools: new Tools(workspaces, running, systemClock),
    tokens: new Tokens(store.tokens, systemClock),
  };
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
