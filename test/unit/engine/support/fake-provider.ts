import { vi } from 'vitest';
import type {
  CreatedSandbox,
  FileContent,
  FileInfo,
  ProviderCapabilities,
  ProviderHealth,
  WorkspaceProvider,
} from '../../../../src/domain/provider.ts';

/** A provider that keeps its sandboxes as names in a set. Tests replace what should go wrong. */
export class FakeProvider implements WorkspaceProvider {
  readonly name: string;
  readonly isolation: ProviderCapabilities['isolation'];
  readonly sandboxes = new Set<string>();

  constructor(name = 'fake', isolation: ProviderCapabilities['isolation'] = 'gvisor') {
    this.name = name;
    this.isolation = isolation;
  }

  readonly create = vi.fn<WorkspaceProvider['create']>(async (spec) => {
    this.sandboxes.add(spec.sandboxName);
    return { limits: { ...spec.limits, cpu: 1 }, metadata: { isolation: this.isolation } };
  });

  readonly destroy = vi.fn<WorkspaceProvider['destroy']>(async (ref) => {
    this.sandboxes.delete(ref.sandboxName);
  });

  readonly health = vi.fn<WorkspaceProvider['health']>(async () => ({
    state: 'healthy',
    details: {},
  }));

  readonly exec = vi.fn<WorkspaceProvider['exec']>(async () => {
    throw new Error('not part of this test');
  });

  async capabilities(): Promise<ProviderCapabilities> {
    return {
      isolation: this.isolation,
      features: { persistence: false, snapshots: false, warmPool: false },
      requires: [],
      startupMs: null,
      available: null,
    };
  }

  async stop(): Promise<void> {
    throw new Error('not part of this test');
  }

  async resume(): Promise<CreatedSandbox> {
    throw new Error('not part of this test');
  }

  async readFile(): Promise<FileContent> {
    throw new Error('not part of this test');
  }

  async writeFile(): Promise<FileInfo> {
    throw new Error('not part of this test');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing is held.
  }
}

export function unhealthy(
  reason = 'no engine',
  state: 'unhealthy' | 'absent' = 'unhealthy',
): ProviderHealth {
  return { state, reason, remedy: 'Start it.', details: {} };
}
