import { Seal } from '../../../../../src/base/seal.ts';
import { Slots } from '../../../../../src/base/slots.ts';
import type { Caller } from '../../../../../src/domain/caller.ts';
import type { McpServerConfig } from '../../../../../src/domain/mcp-config.ts';
import type { McpHealthState, RegisterMcpServer } from '../../../../../src/domain/mcp.ts';
import { lifecycleOf } from '../../../../../src/engine/lifecycle/lifecycle.ts';
import { Releases } from '../../../../../src/engine/lifecycle/releases.ts';
import { RunningChanges } from '../../../../../src/engine/lifecycle/running-changes.ts';
import { SandboxSpecs } from '../../../../../src/engine/lifecycle/sandbox-specs.ts';
import { CallNotes } from '../../../../../src/engine/mcp/call-notes.ts';
import { McpHost } from '../../../../../src/engine/mcp/host.ts';
import { Registration } from '../../../../../src/engine/mcp/registration.ts';
import { McpServers } from '../../../../../src/engine/mcp/servers.ts';
import { FakeClock } from '../../../../support/clock.ts';
import { eventually } from '../../../../support/eventually.ts';
import { recordLog } from '../../../../support/log.ts';
import { FakeProvider } from '../../support/fake-provider.ts';
import { MemoryMcpStore } from '../../support/memory-mcp.ts';
import { MemoryWorkspaceStore } from '../../support/memory-store.ts';
import { providersOf } from '../../support/providers.ts';
import { ScriptedPrograms } from './scripted-programs.ts';

export const admin: Caller = { tokenId: 'admin', role: 'admin' };

export const config: McpServerConfig = {
  ...{ name: 'scripted', command: '/bin/scripted', args: ['--now'], workdir: null },
  ...{ transport: { kind: 'stdio' }, restartPolicy: 'always', volumes: [] },
  ...{ maxInFlight: 16, initializeTimeoutMs: 30_000, shared: false },
};

export function request(changes: Partial<McpServerConfig> = {}): RegisterMcpServer {
  return {
    ...{ config: { ...config, ...changes }, image: 'base', provider: 'auto' },
    ...{ env: { SECRET: 'of the server' }, limits: {}, network: 'isolated', metadata: {} },
  };
}

export interface Hosting {
  readonly clock: FakeClock;
  readonly store: MemoryWorkspaceStore;
  readonly provider: FakeProvider;
  readonly programs: ScriptedPrograms;
  readonly host: McpHost;
  readonly servers: McpServers;
}

/** Hosting over fakes; `beside`: after that one's server has died, on what it left. */
export function setUpHosting(beside?: Hosting): Hosting {
  const clock = beside?.clock ?? new FakeClock();
  const store = new MemoryWorkspaceStore(
    beside ? { clock, server: beside.store.server + 1, on: beside.store } : { clock },
  );
  const { log } = recordLog();
  const provider = beside?.provider ?? new FakeProvider();
  const programs = beside?.programs ?? new ScriptedPrograms(clock);
  Object.assign(provider.processes, programs);
  const providers = providersOf([provider], clock);
  const changes = new RunningChanges();
  const mcp = new MemoryMcpStore(store);
  const specs = new SandboxSpecs(new Seal(new Uint8Array(32), 'test'));
  const releases = new Releases(store, changes, clock, log);
  const context = {
    ...{ store, mcp, providers, specs, changes, releases, maxConcurrent: 10, clock, log },
    ...{
      defaults: { image: 'base', deploymentMode: 'self-hosted' as const },
      allowUnsandboxed: false,
    },
  };
  const lifecycle = lifecycleOf(context);
  const host = new McpHost({
    ...{ ...context, events: store.events, suspension: lifecycle.suspension, starts: new Slots(4) },
    settings: { pingEveryMs: 30_000, shutdownGraceMs: 30_000 },
  });
  const registration = new Registration({ ...context, lifecycle });
  const notes = new CallNotes(store.events, clock, log);
  const servers = new McpServers({ ...context, lifecycle, registration, host, notes });
  return { clock, store, provider, programs, host, servers };
}

export const soon = (): AbortSignal => AbortSignal.timeout(30_000);

/** Waits for what happens by itself; time stands still. */
export async function untilHealth(
  { servers }: Hosting,
  state: McpHealthState,
  name = config.name,
): Promise<void> {
  await eventually(async () => {
    const { health } = await servers.get(admin, name);
    if (health.state !== state) throw new Error(`it is ${health.state}: ${String(health.reason)}`);
  });
}

export function eventTypes({ store }: Hosting): readonly string[] {
  return store.events.events.map(({ type }) => type).filter((type) => type.startsWith('mcp.'));
}
