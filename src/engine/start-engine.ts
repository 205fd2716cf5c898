import { availableParallelism } from 'node:os';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { Seal } from '../base/seal.ts';
import { Slots } from '../base/slots.ts';
import type { SandboxIncident, WorkspaceProvider } from '../domain/provider.ts';
import type { UnconfiguredProvider } from '../domain/provider-status.ts';
import type { Store } from '../domain/store.ts';
import type { PoolDefinition } from '../domain/warm-pool.ts';
import { Activity } from './activity.ts';
import type { Engine } from './engine.ts';
import { Events } from './events.ts';
import { Incidents } from './incidents.ts';
import { CallNotes } from './mcp/call-notes.ts';
import type { McpSettings } from './mcp/context.ts';
import { McpHost } from './mcp/host.ts';
import { mcpPeers } from './mcp/peers.ts';
import type { McpPeers } from './mcp/peers.ts';
import { Registration } from './mcp/registration.ts';
import { McpServers } from './mcp/servers.ts';
import { lifecycleOf } from './lifecycle/lifecycle.ts';
import { Releases } from './lifecycle/releases.ts';
import { RunningChanges } from './lifecycle/running-changes.ts';
import { SandboxSpecs } from './lifecycle/sandbox-specs.ts';
import type { WorkspaceDefaults } from './new-workspace.ts';
import { Operations } from './operations.ts';
import { WarmPool } from './pool/warm-pool.ts';
import { Processes } from './processes.ts';
import { Providers } from './providers.ts';
import { Reaper } from './reaper.ts';
import { Reconciler } from './reconciler.ts';
import { Stats } from './stats.ts';
import { Terminals } from './terminals.ts';
import { Tokens } from './tokens.ts';
import { Tools } from './tools.ts';
import { wakingEvents, wakingMcp, wakingPools, wakingStore } from './waking-store.ts';
import { Workspaces } from './workspaces.ts';

export interface EngineOptions {
  readonly store: Store;
  readonly providers: readonly WorkspaceProvider[];
  /** Known by name, and not to be had on this server. */
  readonly unconfigured?: readonly UnconfiguredProvider[];
  /** Seals what is secret in the store. */
  readonly secretKey: Uint8Array;
  readonly defaults: WorkspaceDefaults;
  readonly maxConcurrent: number;
  /** The warm pools that this server is configured with. */
  readonly warmPools: readonly PoolDefinition[];
  /** The version of the server. */
  readonly release: string;
  readonly allowUnsandboxed: boolean;
  readonly eventRetentionSeconds: number;
  readonly reconcileEveryMs?: number;
  readonly mcpSettings: McpSettings;
  readonly clock: Clock;
  readonly log: Log;
}

export interface RunningEngine extends Engine, AsyncDisposable {
  readonly mcpPeers: McpPeers;
  /** How many tool calls are in progress. */
  readonly operationsInFlight: number;
  /**
   * The server is about to go: whoever waits for a command is told where to find it again. The commands
   * themselves go on.
   */
  leave(): void;
  /** The configuration was read again. */
  configurePools(definitions: readonly PoolDefinition[]): Promise<void>;
  /** Something happened in a sandbox by itself. Returns at once. */
  noteIncident(incident: SandboxIncident): void;
}

/** Changes that are still being made get this long; the next server goes on with the rest. */
const drainMs = 10_000;
/** More at a time only take longer each: a start is the work of one core for a while. */
const mcpStartsAtOnce = 2 * availableParallelism();

/** The moving parts, wired and moving. Disposing stops what acts by itself; workspaces keep running. */
export function startEngine(options: EngineOptions): RunningEngine {
  const { clock, log } = options;
  using starting = new DisposableStack();
  const events = new Events({ store: options.store.events, clock, log });
  const wake = (): void => {
    events.wake();
  };
  const store = wakingStore(options.store.workspaces, wake);
  const eventStore = wakingEvents(options.store.events, wake);
  const pools = wakingPools(options.store.pools, wake);
  const providers = new Providers({ ...options, events: eventStore });
  const changes = new RunningChanges();
  const releases = starting.use(new Releases(store, changes, clock, log));
  const activity = starting.use(new Activity(store, clock, log));
  const incidents = starting.use(new Incidents(eventStore, clock, log));
  const leaving = new AbortController();

  const specs = new SandboxSpecs(new Seal(options.secretKey, 'workspace environment'));
  const mcp = wakingMcp(options.store.mcp, wake);
  const context = { ...options, store, mcp, providers, specs, changes, releases };
  const lifecycle = lifecycleOf(context);
  const { upkeep } = lifecycle;
  const { allowUnsandboxed, release } = options;
  const { deploymentMode } = options.defaults;
  const pool = new WarmPool({
    ...{ context, pools, ...lifecycle, definitions: options.warmPools, release },
    rules: { allowUnsandboxed, containerType: 'agent_workspace', deploymentMode },
  });
  const workspaces = new Workspaces({ ...context, lifecycle, claims: pool.claims });
  const reconciler = new Reconciler({
    ...{ store, mcp, events: eventStore, providers, upkeep, releases, clock, log },
    ...(options.reconcileEveryMs !== undefined && { everyMs: options.reconcileEveryMs }),
  });
  const reaper = new Reaper({
    ...{ store, events: eventStore, upkeep, releases, clock, log },
    busy: () => activity.busy(),
    retentionSeconds: options.eventRetentionSeconds,
  });
  const operations = new Operations({
    ...{ store, events: eventStore, providers, activity, clock, log },
    onUnreachable: (id) => {
      reconciler.nudge(id);
    },
  });
  const mcpHost = new McpHost({
    ...{ store, mcp, events: eventStore, providers, specs, clock, log },
    ...{ suspension: lifecycle.suspension, settings: options.mcpSettings },
    starts: new Slots(mcpStartsAtOnce),
  });
  const notes = new CallNotes(eventStore, clock, log);
  const registration = new Registration({ ...context, lifecycle });
  releases.onRelease = () => {
    reconciler.nudge();
  };
  starting.use(
    providers.onChange(() => {
      pool.tryNow();
      mcpHost.tryNow();
    }),
  );
  providers.start();
  reconciler.start();
  reaper.start();
  pool.start();
  mcpHost.start();
  const running = starting.move();
  return {
    workspaces,
    tools: new Tools(operations, clock, leaving.signal),
    processes: new Processes(operations),
    terminals: new Terminals(operations),
    events,
    stats: new Stats({ store, providers, clock }),
    pool,
    upkeep: reconciler,
    mcp: new McpServers({ ...context, lifecycle, registration, host: mcpHost, notes }),
    mcpPeers: mcpPeers({ store, mcp, peers: options.store.peers, host: mcpHost }),
    tokens: new Tokens(options.store.tokens, clock),
    get operationsInFlight() {
      return activity.operations;
    },
    noteIncident(incident) {
      incidents.note(incident);
    },
    configurePools: (definitions) => pool.configure(definitions),
    leave() {
      leaving.abort(new Error('the server is stopping'));
    },
    async [Symbol.asyncDispose]() {
      // While all else still works: programs are given time to end.
      await mcpHost[Symbol.asyncDispose]();
      await notes.written();
      const busy = [reaper, reconciler, pool, providers];
      await Promise.all(busy.map((part) => part[Symbol.asyncDispose]()));
      await changes.drain(drainMs);
      events[Symbol.dispose]();
      running.dispose();
    },
  };
}
