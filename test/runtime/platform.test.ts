import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { noteMissingKvm } from '../../src/host/probes/kvm-notice.ts';
import { lookAtKvm } from '../../src/host/probes/kvm.ts';
import { soon } from '../conformance/sandbox.ts';
import { ScenarioServer } from '../scenarios/support.ts';
import { sharedRuntimes, startPrivateEngine } from '../support/engine.ts';
import type { PrivateEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { testHost } from '../support/host.ts';
import { recordLog } from '../support/log.ts';
import { verifies } from '../support/verifies.ts';

const kvmLine = 'KVM-based Firecracker is unavailable on this host; gVisor works without KVM';

describe('the platform that gVisor runs on', () => {
  let engine: PrivateEngine;
  beforeAll(async () => {
    const { image } = await testHost();
    const [runsc] = Object.values(await sharedRuntimes());
    if (!runsc) throw new Error('the shared engine knows no runsc');
    const others = (flag: string): readonly string[] => [...runsc.runtimeArgs, flag];
    engine = await startPrivateEngine({
      images: [image],
      runtimes: {
        runsc,
        'runsc-ptrace': { ...runsc, runtimeArgs: others('--platform=ptrace') },
        'runsc-hostnet': { ...runsc, runtimeArgs: others('--network=host') },
      },
    });
  });
  afterAll(async () => {
    await engine[Symbol.asyncDispose]();
  });

  async function serverUnder(name: string, log = recordLog()): Promise<ScenarioServer> {
    const { runtime } = await testHost();
    if (runtime.state !== 'present') throw new Error(runtime.reason);
    return ScenarioServer.start(
      { DOCKER_HOST: `unix://${engine.socket}` },
      engine.docker,
      systemClock,
      { host: { runtime: { ...runtime, name } }, log: log.log },
    );
  }

  verifies(
    ['gvisor/linux-without-kvm'],
    'needs no KVM: workspaces run by system call interception, and the log says what KVM is missing for',
    async () => {
      const missing = (await lookAtKvm(soon())).state !== 'ok';
      const works = async (name: string, platform: string): Promise<void> => {
        const recorded = recordLog();
        await using server = await serverUnder(name, recorded);
        const { status, body } = await server.call('POST', '', { network: 'isolated' });
        expect([status, body.metadata]).toMatchObject([
          201,
          { isolation: 'gvisor', platform, network_stack: 'sandbox' },
        ]);
        expect((await server.bash(body.id, 'uname -r; echo works')).body.stdout).toMatch(
          /works\n$/,
        );
        const [provider] = (await server.call('GET', '/providers')).body.providers;
        expect(provider).toMatchObject({ status: 'healthy', details: { platform } });
        await eventually(() => {
          expect(recorded.entries().some(({ msg }) => msg === kvmLine)).toBe(missing);
        });
      };
      // One after the other: a trial of the slower one has its deadline, also on a host that is busy otherwise.
      await works('runsc', 'systrap');
      await works('runsc-ptrace', 'ptrace');
    },
    180_000,
  );

  test("a runsc on the host's network stack works, and is said to be reduced", async () => {
    await using server = await serverUnder('runsc-hostnet');
    const { body } = await server.call('POST', '', { network: 'isolated' });
    expect(body.metadata).toMatchObject({
      network_stack: 'host',
      network_stack_warning: expect.stringContaining('isolation is reduced') as unknown,
    });
    const [provider] = (await server.call('GET', '/providers')).body.providers;
    expect(provider.details).toMatchObject({ network_stack: 'host' });
  });
});

describe('the word about KVM', () => {
  const without = {
    state: 'missing',
    reason: 'this host has no /dev/kvm',
    remedy: 'none',
  } as const;

  test('is one line of information, with the reason', async () => {
    const recorded = recordLog();
    await noteMissingKvm(recorded.log, soon(), async () => without);
    expect(recorded.entries()).toMatchObject([
      { level: 'info', msg: kvmLine, reason: 'this host has no /dev/kvm' },
    ]);
  });

  test('is not said where KVM works, nor by a server that is stopping', async () => {
    const recorded = recordLog();
    await noteMissingKvm(recorded.log, soon(), async () => ({ state: 'ok', reason: 'runs' }));
    await noteMissingKvm(recorded.log, AbortSignal.abort(), async () => without);
    expect(recorded.entries()).toEqual([]);
  });
});
