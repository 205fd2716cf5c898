import type { Caller } from '../../../../src/domain/caller.ts';
import type { CreateWorkspaceRequest } from '../../../../src/domain/create-request.ts';
import { Providers } from '../../../../src/engine/providers.ts';
import { Workspaces } from '../../../../src/engine/workspaces.ts';
import { FakeClock } from '../../../support/clock.ts';
import { recordLog } from '../../../support/log.ts';
import type { RecordedLog } from '../../../support/log.ts';
import { FakeProvider } from './fake-provider.ts';
import { MemoryWorkspaceStore } from './memory-store.ts';

export const admin: Caller = { tokenId: 'the admin', role: 'admin' };
export const alice: Caller = { tokenId: 'alice', role: 'agent' };
export const bob: Caller = { tokenId: 'bob', role: 'agent' };

export const request: CreateWorkspaceRequest = {
  provider: 'auto',
  limits: {},
  network: 'nat',
  env: { A: '1' },
  metadata: { purpose: 'test' },
};

/** An abort signal that nobody aborts. */
export function never(): AbortSignal {
  return new AbortController().signal;
}

export interface Setup {
  readonly workspaces: Workspaces;
  readonly store: MemoryWorkspaceStore;
  readonly provider: FakeProvider;
  readonly clock: FakeClock;
  readonly recorded: RecordedLog;
}

/** The engine's workspaces over fakes. */
export function setUp(provider = new FakeProvider(), ...others: FakeProvider[]): Setup {
  const store = new MemoryWorkspaceStore();
  const clock = new FakeClock();
  const recorded = recordLog();
  const workspaces = new Workspaces({
    store,
    providers: new Providers([provider, ...others], clock),
    defaults: {
      image: 'base',
      limits: { cpu: 2, memoryBytes: 4 * 2 ** 30, diskBytes: 10 * 2 ** 30 },
      ttlSeconds: 3600,
      deploymentMode: 'self-hosted',
    },
    allowUnsandboxed: false,
    clock,
    log: recorded.log,
  });
  return { workspaces, store, provider, clock, recorded };
}

/** A call that stands still until the test lets it go on. */
export class Gate {
  readonly #reached = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();
  readonly reached: Promise<void> = this.#reached.promise;

  async pass(): Promise<void> {
    this.#reached.resolve();
    await this.#opened.promise;
  }

  open(): void {
    this.#opened.resolve();
  }
}
