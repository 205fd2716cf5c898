import { vi } from 'vitest';
import { EmergentError } from '../../../../src/domain/errors.ts';
import type {
  FoundSandbox,
  ProviderCapabilities,
  ProviderHealth,
  SandboxRef,
  WarmSandboxes,
  WorkspaceProvider,
} from '../../../../src/domain/provider.ts';
import type { SandboxProcesses } from '../../../../src/domain/sandbox-processes.ts';

/** When the sandboxes of a fake say that they were made, unless a test says otherwise. */
export const longAgo = new Date('2029-01-01T00:00:00Z');

export interface FakeOptions {
  /** What it declares to need: a microVM ['kvm'], a managed provider ['network']. */
  readonly requires?: ProviderCapabilities['requires'];
  /** Whether sandboxes can wait in it. */
  readonly warmPool?: boolean;
}

/**
 * A provider that keeps its sandboxes as names in sets. Tests replace what should go wrong, and change the
 * sets behind its back.
 */
export class FakeProvider implements WorkspaceProvider {
  readonly name: string;
  readonly isolation: ProviderCapabilities['isolation'];
  /** All that exist. */
  readonly sandboxes = new Set<string>();
  /** Those of them that do not run. */
  readonly stopped = new Set<string>();
  /** Those of them whose files are gone. */
  readonly lost = new Set<string>();
  /** When each was made, where that is not `longAgo`. */
  readonly createdAt = new Map<string, Date>();

  /** What sandboxes are made of now. */
  fingerprint = 'image 1';
  readonly #options: FakeOptions;

  constructor(
    name = 'fake',
    isolation: ProviderCapabilities['isolation'] = 'gvisor',
    options: FakeOptions = {},
  ) {
    this.name = name;
    this.isolation = isolation;
    this.#options = options;
    if (options.warmPool === true) this.warm = this.waiting;
  }

  readonly warm?: WarmSandboxes;

  /** The parts of `warm`, for tests to replace. */
  readonly waiting = {
    fingerprint: vi.fn<WarmSandboxes['fingerprint']>(async () => this.fingerprint),
    rest: vi.fn<WarmSandboxes['rest']>(async (ref) => {
      this.#mustRun(ref);
    }),
    rouse: vi.fn<WarmSandboxes['rouse']>(),
    adopt: vi.fn<WarmSandboxes['adopt']>(async (ref) => {
      this.#mustRun(ref);
    }),
  };

  readonly create = vi.fn<WorkspaceProvider['create']>(async (spec) => {
    this.#forget(spec.sandboxName);
    this.sandboxes.add(spec.sandboxName);
    return { limits: { ...spec.limits, cpu: 1 }, metadata: { isolation: this.isolation } };
  });

  readonly destroy = vi.fn<WorkspaceProvider['destroy']>(async (ref, _signal, options) => {
    if (options?.keepFiles !== true) this.#forget(ref.sandboxName);
    else if (this.sandboxes.has(ref.sandboxName)) this.stopped.add(ref.sandboxName);
  });

  readonly stop = vi.fn<WorkspaceProvider['stop']>(async (ref) => {
    if (this.sandboxes.has(ref.sandboxName)) this.stopped.add(ref.sandboxName);
  });

  readonly resume = vi.fn<WorkspaceProvider['resume']>(async (ref, spec) => {
    if (!this.sandboxes.has(ref.sandboxName) || this.lost.has(ref.sandboxName)) {
      throw new EmergentError('files_lost', `the files of ${ref.sandboxName} are gone`);
    }
    this.stopped.delete(ref.sandboxName);
    return { limits: { ...spec.limits, cpu: 1 }, metadata: { isolation: this.isolation } };
  });

  readonly list = vi.fn<NonNullable<WorkspaceProvider['list']>>(async () =>
    [...this.sandboxes].map((name) => this.#found(name)),
  );

  readonly sweep = vi.fn<NonNullable<WorkspaceProvider['sweep']>>(async () => []);

  readonly processes = {
    start: vi.fn<SandboxProcesses['start']>(notHere),
    list: vi.fn<SandboxProcesses['list']>(async () => []),
    attach: vi.fn<SandboxProcesses['attach']>(notHere),
    signal: vi.fn<SandboxProcesses['signal']>(notHere),
    input: vi.fn<SandboxProcesses['input']>(notHere),
    closeInput: vi.fn<SandboxProcesses['closeInput']>(notHere),
    endAll: vi.fn<SandboxProcesses['endAll']>(notHere),
    resize: vi.fn<SandboxProcesses['resize']>(notHere),
  };

  readonly health = vi.fn<WorkspaceProvider['health']>(async () => ({
    state: 'healthy',
    details: {},
  }));

  readonly exec = vi.fn<WorkspaceProvider['exec']>(notHere);

  readonly capabilities = vi.fn<WorkspaceProvider['capabilities']>(async () => ({
    isolation: this.isolation,
    features: {
      persistence: true,
      snapshots: false,
      warmPool: this.#options.warmPool ?? false,
      processes: true,
      terminals: true,
      tools: true,
      list: true,
      stats: false,
      tunnels: false,
    },
    requires: this.#options.requires ?? [],
    startupMs: null,
    available: null,
  }));

  readonly readFile = vi.fn<WorkspaceProvider['readFile']>(notHere);

  readonly writeFile = vi.fn<WorkspaceProvider['writeFile']>(notHere);

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing is held.
  }

  #mustRun({ sandboxName }: SandboxRef): void {
    if (this.sandboxes.has(sandboxName) && !this.stopped.has(sandboxName)) return;
    throw new EmergentError('sandbox_unreachable', `${sandboxName} does not run`);
  }

  #found(name: string): FoundSandbox {
    const stopped = this.stopped.has(name);
    return {
      // The engine names a sandbox after its workspace.
      workspaceId: /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.exec(name)?.[0] ?? name,
      sandboxName: name,
      state: stopped ? 'stopped' : 'running',
      hasFiles: !this.lost.has(name),
      createdAt: this.createdAt.get(name) ?? longAgo,
      parts: [`sandbox ${name}`],
      ...(stopped && { reason: 'exited with code 137' }),
    };
  }

  #forget(name: string): void {
    for (const names of [this.sandboxes, this.stopped, this.lost, this.createdAt]) {
      names.delete(name);
    }
  }
}

async function notHere(): Promise<never> {
  throw new Error('not part of this test');
}

export function unhealthy(
  reason = 'no engine',
  state: 'unhealthy' | 'absent' = 'unhealthy',
): ProviderHealth {
  return { state, reason, remedy: 'Start it.', details: {} };
}
