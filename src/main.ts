import { constants } from 'node:fs';
import { access, readFile, rename, writeFile, mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { buildApi } from './api/app.ts';
import { systemClock } from './base/clock.ts';
import type { Clock } from './base/clock.ts';
import { withDeadline } from './base/deadline.ts';
import { createLog } from './base/log.ts';
import type { Log } from './base/log.ts';
import { poolDefinitions } from './config.ts';
import type { Config } from './config.ts';
import type { SandboxIncident, WorkspaceProvider } from './domain/provider.ts';
import type { UnconfiguredProvider } from './domain/provider-status.ts';
import type { Installation } from './domain/store.ts';
import { newSecret } from './domain/token.ts';
import { startEngine } from './engine/start-engine.ts';
import type { EngineOptions, RunningEngine } from './engine/start-engine.ts';
import { Launcher } from './host/launcher.ts';
import { hostNetworkBy } from './host/network.ts';
import { noteMissingKvm } from './host/probes/kvm-notice.ts';
import { runtimeProber } from './host/runsc/runtime-prober.ts';
import type { PreparedHost } from './host/setup/prepare.ts';
import { ContainerEngine } from './providers/gvisor/container-engine.ts';
import { gvisorProfile, plainProfile } from './providers/gvisor/container-profile.ts';
import { ContainerProvider } from './providers/gvisor/provider.ts';
import { MemoryProvider } from './providers/memory/provider.ts';
import { openStore } from './store/open.ts';
import type { StoreOptions } from './store/open.ts';
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
  /** Takes over what can change while it runs: the warm pools. */
  reload(config: Config): Promise<void>;
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
  log: Log = createLog({ level: config.logLevel }),
): Promise<RunningServer> {
  await using starting = new AsyncDisposableStack();

  // First: its process is a copy of this one, which grows with the database.
  const launcher = starting.use(new Launcher());
  if (!config.demo) launcher.start();
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
  const store = starting.use(await openStore({ ...storeOptions(config), clock, log }));
  const installation = await store.installation();
  // Nothing is heard of sandboxes before the engine runs.
  let noteIncident: RunningEngine['noteIncident'] = () => undefined;
  const onIncident: RunningEngine['noteIncident'] = (incident) => {
    noteIncident(incident);
  };
  const diskDir = await directoryForDisks(config);
  const parts = { log, onIncident, diskDir, launcher };
  const providers = openProviders(config, host, installation, parts, starting);
  const settled = engineOptions(config, host, installation);
  const unconfigured = config.demo ? [] : notBrought;
  const engine = starting.use(
    startEngine({ ...settled, store, providers, unconfigured, clock, log }),
  );
  noteIncident = (incident) => {
    engine.noteIncident(incident);
  };
  const adminToken = await resolveAdminToken(config);
  await engine.tokens.installBootstrapAdmin(adminToken.value, `${hostname()}:${config.dataDir}`);

  const app = await buildApi({
    engine,
    log,
    clock: systemClock,
    version: packageJson.version,
    ready: () => store.describe(),
    runningProcesses: () => engine.operationsInFlight,
    sessionKey: settled.secretKey,
    peers: engine.mcpPeers,
  });
  starting.defer(() => closeHttp(app, engine, log));
  const url = await app.listen({ host: config.host, port: config.port });
  const database = await store.describe();
  log.info('server ready', { url, database, installation: installation.id });
  if (!config.demo) {
    starting.use(inBackground((signal) => noteMissingKvm(log, signal)));
  }

  const started = starting.move();
  return {
    ...{ url, adminToken, database },
    reload: (changed) => engine.configurePools(poolsOf(changed, host)),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

function storeOptions(
  config: Config,
): Pick<StoreOptions, 'dataDir' | 'databaseUrl' | 'advertiseUrl'> {
  const { dataDir, databaseUrl, advertiseUrl } = config;
  return {
    dataDir,
    ...(databaseUrl !== undefined && { databaseUrl }),
    ...(advertiseUrl !== undefined && { advertiseUrl }),
  };
}

interface ProviderParts {
  readonly log: Log;
  readonly onIncident: (incident: SandboxIncident) => void;
  readonly diskDir: string;
  readonly launcher: Launcher;
}

/** All servers of an installation on this host find the same disks there; who may not write there has none. */
const sharedDiskDir = '/var/lib/emergent/disks';

async function directoryForDisks(config: Config): Promise<string> {
  if (config.diskDir !== undefined) return config.diskDir;
  try {
    await mkdir(sharedDiskDir, { recursive: true, mode: 0o700 });
    await access(sharedDiskDir, constants.W_OK);
    return sharedDiskDir;
  } catch {
    return join(config.dataDir, 'disks');
  }
}

/** What people may ask for by name and this version of the server cannot give. */
const notBrought: readonly UnconfiguredProvider[] = ['firecracker', 'e2b'].map((name) => ({
  name,
  reason: `this version of the server brings no provider "${name}"`,
  remedy: 'Use another provider, or leave the choice to the server: `emergent providers explain`.',
}));

/** Owned by the stack, like what they share. */
function openProviders(
  config: Config,
  host: HostFacts,
  installation: Installation,
  { log, onIncident, diskDir, launcher }: ProviderParts,
  owned: AsyncDisposableStack,
): readonly WorkspaceProvider[] {
  if (config.demo) {
    const agentPath = agentForThisMachine(host);
    const tools = agentPath === undefined ? {} : { agentPath };
    return [owned.use(new MemoryProvider({ root: join(config.dataDir, 'demo'), ...tools }))];
  }
  const dockerHost =
    config.dockerHost ?? (host.dockerSocket ? `unix://${host.dockerSocket}` : undefined);
  const hostRun: Launcher['run'] = (argv, options) => launcher.run(argv, options);
  const runtime = host.runtime.state === 'present' ? host.runtime.name : 'runsc';
  const engine = owned.use(
    new ContainerEngine({
      dockerHost,
      installationId: installation.id,
      key: installation.key,
      image: host.image,
      agentPaths: host.agentPaths,
      nameservers: config.nameservers,
      hostNetwork: hostNetworkBy(hostRun),
      hostRun,
      allowUnfilteredNetwork: config.allowUnfilteredNetwork,
      tryRuntime: runtimeProber(dockerHost),
      diskDir,
      diskMode: config.diskMode,
      onIncident,
      idleFreezeMs: config.idleFreezeSeconds === null ? null : config.idleFreezeSeconds * 1000,
      clock: systemClock,
      log,
    }),
  );
  return [gvisorProfile(runtime), plainProfile(config.allowUnsandboxed)].map((profile) =>
    owned.use(new ContainerProvider(engine, profile)),
  );
}

/** Work that nobody waits for, and that ends with the server. */
function inBackground(work: (signal: AbortSignal) => Promise<void>): AsyncDisposable {
  const leaving = new AbortController();
  const running = work(leaving.signal);
  return {
    async [Symbol.asyncDispose]() {
      leaving.abort(new Error('the server is stopping'));
      await running;
    },
  };
}

function agentForThisMachine({ agentPaths }: HostFacts): string | undefined {
  if (process.platform !== 'linux') return undefined;
  return process.arch === 'arm64' ? agentPaths?.arm64 : agentPaths?.amd64;
}

function engineOptions(
  config: Config,
  host: HostFacts,
  installation: Installation,
): Pick<
  EngineOptions,
  | 'secretKey'
  | 'defaults'
  | 'maxConcurrent'
  | 'allowUnsandboxed'
  | 'eventRetentionSeconds'
  | 'reconcileEveryMs'
  | 'mcpSettings'
  | 'warmPools'
  | 'release'
> {
  return {
    secretKey:
      config.secretKey === undefined ? installation.key : Buffer.from(config.secretKey, 'utf8'),
    warmPools: poolsOf(config, host),
    release: packageJson.version,
    defaults: {
      image: config.defaultImage ?? host.image,
      limits: config.defaultLimits,
      ttlSeconds: config.defaultTtlSeconds,
      deploymentMode: config.deploymentMode,
    },
    maxConcurrent: config.maxConcurrent,
    allowUnsandboxed: config.allowUnsandboxed || config.demo,
    eventRetentionSeconds: config.eventRetentionSeconds,
    reconcileEveryMs: config.reconcileSeconds * 1000,
    mcpSettings: {
      pingEveryMs: config.mcpPingSeconds * 1000,
      shutdownGraceMs: config.mcpGraceSeconds * 1000,
    },
  };
}

function poolsOf(config: Config, host: HostFacts): EngineOptions['warmPools'] {
  return poolDefinitions(config, config.defaultImage ?? host.image);
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
