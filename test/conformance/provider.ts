import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestContext } from 'vitest';
import type { SandboxRef, SandboxSpec, WorkspaceProvider } from '../../src/domain/provider.ts';
import { contractTests } from './contract.ts';
import { detachedTests } from './detached.ts';
import { endAllTests } from './end-all.ts';
import { execTests } from './exec.ts';
import { fileTests } from './files.ts';
import { inputTests } from './input.ts';
import { lifecycleTests } from './lifecycle.ts';
import { listTests } from './list.ts';
import { processTests } from './processes.ts';
import { TestSandbox, newSpec, soon } from './sandbox.ts';
import { stopResumeTests } from './stop-resume.ts';
import { tunnelTests } from './tunnels.ts';
import { volumeTests } from './volumes.ts';
import { warmTests } from './warm.ts';

export interface ProviderUnderTest {
  readonly provider: WorkspaceProvider;
  /** An image with sh and the tools of a plain Debian. */
  readonly image: string;
  /** Whether `SandboxSpec.volumes` is more than accepted. */
  readonly hasVolumes: boolean;
  /** What a whole sandbox consists of, as `list` names it. */
  readonly parts: (ref: SandboxRef) => readonly string[];
  /** Takes the files away behind the provider's back. */
  readonly loseFiles: (ref: SandboxRef) => Promise<void>;
  /** Takes away all but the files, where there is more than files. */
  readonly loseAllButFiles?: (ref: SandboxRef) => Promise<void>;
  /** Another provider for the same sandboxes, as after a restart of the server, where they outlive it. */
  readonly restarted?: () => WorkspaceProvider;
  /** Closes what the provider was made from, after it. */
  readonly close?: () => Promise<void>;
}

export interface ConformanceOptions {
  /** Why the suite cannot run on this host, if it cannot; every test is then skipped with that reason. */
  readonly requires?: () => Promise<string | undefined>;
}

/** What the groups of tests are written against. */
export interface Bench {
  /** Of this file's own provider; available inside tests. */
  readonly provider: () => WorkspaceProvider;
  /** One sandbox shared by all groups: tests keep to files of their own. */
  readonly shared: () => TestSandbox;
  /** A sandbox for one test. */
  readonly create: (
    env?: Readonly<Record<string, string>>,
    change?: Partial<SandboxSpec>,
  ) => Promise<TestSandbox>;
  readonly image: () => string;
  readonly subject: () => ProviderUnderTest;
  readonly test: (name: string, run: (context: TestContext) => Promise<void>) => void;
  /** Skips the running test, with the reason, where the suite cannot run. */
  readonly guard: (context: TestContext) => void;
}

const groups = {
  contract: contractTests,
  exec: execTests,
  processes: processTests,
  files: fileTests,
  lifecycle: lifecycleTests,
  'stop and resume': stopResumeTests,
  'detached processes': detachedTests,
  'input of processes': inputTests,
  'ending everything': endAllTests,
  tunnels: tunnelTests,
  volumes: volumeTests,
  list: listTests,
  'warm sandboxes': warmTests,
};

/**
 * What every provider must do, with the same expected values on each. Tests ask for capabilities, never for
 * names. The factory makes one provider per run; the suite disposes of it, and fails if sandboxes are left.
 */
export function providerConformance(
  name: string,
  factory: () => Promise<ProviderUnderTest>,
  { requires }: ConformanceOptions = {},
): void {
  describe(`provider ${name}`, { meta: { runsOn: name, suite: 'conformance' } }, () => {
    let subject: ProviderUnderTest | undefined;
    let obstacle: string | undefined;

    beforeAll(async () => {
      obstacle = await requires?.();
      if (obstacle === undefined) subject = await factory();
    });
    afterAll(async () => {
      if (!subject) return;
      await using closing = new AsyncDisposableStack();
      closing.defer(async () => subject?.close?.());
      const provider = closing.use(subject.provider);
      expect(await provider.list?.(soon())).toEqual([]);
    });

    const present = (): ProviderUnderTest => {
      if (subject) return subject;
      throw new Error('the provider is available inside tests and hooks only');
    };
    const bench = benchOf(present, () => obstacle);
    for (const [group, define] of Object.entries(groups)) {
      describe(group, () => {
        define(bench);
      });
    }
  });
}

function benchOf(subject: () => ProviderUnderTest, obstacle: () => string | undefined): Bench {
  let shared: TestSandbox | undefined;
  const create: Bench['create'] = async (env, change) => {
    const { provider, image } = subject();
    const spec = { ...newSpec(image, env), ...change };
    await provider.create(spec, soon());
    return new TestSandbox(provider, spec);
  };
  const guard: Bench['guard'] = (context) => {
    const reason = obstacle();
    if (reason !== undefined) context.skip(reason);
  };

  beforeAll(async () => {
    if (obstacle() === undefined) shared = await create({ FROM_SPEC: 'spec', BOTH: 'spec' });
  });
  afterAll(async () => {
    await shared?.destroy();
  });

  return {
    provider: () => subject().provider,
    image: () => subject().image,
    subject,
    shared: () => {
      if (shared) return shared;
      throw new Error('the shared sandbox is available inside tests only');
    },
    create,
    guard,
    test: (name, run) => {
      test(name, async (context) => {
        guard(context);
        await run(context);
      });
    },
  };
}
