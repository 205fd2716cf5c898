import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { WarmSandboxes } from '../../src/domain/provider.ts';
import { soon } from '../conformance/sandbox.ts';
import type { TestSandbox } from '../conformance/sandbox.ts';
import { Installation } from '../providers/gvisor/support/installation.ts';
import { eventually } from '../support/eventually.ts';
import { CountedEngine } from './support/counted-engine.ts';
import { isFrozen, sentryOf, untilFrozen } from './support/frozen.ts';

/** Longer than the tests take: what is frozen here was frozen by resting. */
const idleFreezeMs = 3_600_000;
/** These are about what is done, not about how fast. */
const adoptMs = 30_000;
const unreachable = { code: 'sandbox_unreachable' };

describe('a container that waits', () => {
  let counted: CountedEngine;
  let installation: Installation;
  let warm: WarmSandboxes;
  beforeAll(async () => {
    counted = await CountedEngine.start();
    const { dockerHost } = counted;
    installation = await Installation.make(systemClock, { dockerHost, idleFreezeMs, adoptMs });
    ({ warm } = installation.provider);
  });
  afterAll(async () => {
    await installation[Symbol.asyncDispose]();
    await counted[Symbol.asyncDispose]();
  });

  const frozen = ({ spec }: TestSandbox): Promise<void> =>
    untilFrozen(installation.docker, spec.sandboxName);
  const resting = async (): Promise<TestSandbox> => {
    const sandbox = await installation.created();
    await warm.rest(sandbox.spec, soon());
    return sandbox;
  };
  const kill = async ({ spec }: TestSandbox): Promise<void> => {
    const pid = await sentryOf(installation.docker, spec.sandboxName);
    process.kill(pid, 'SIGKILL');
    await eventually(async () => {
      const status = await readFile(`/proc/${String(pid)}/status`, 'utf8').catch(() => 'gone');
      expect(status).toMatch(/^gone|^State:\tZ/m);
    });
  };

  test('is frozen as soon as it was made, and again after every use', async () => {
    await using sandbox = await resting();
    await frozen(sandbox);
    for (let round = 0; round < 5; round += 1) {
      await sandbox.sh('true');
      await warm.rest(sandbox.spec, soon());
      await frozen(sandbox);
    }
  });

  test('stays frozen while it is listed, looked at and told to rest again', async () => {
    await using sandbox = await resting();
    await frozen(sandbox);
    const { provider, docker } = installation;
    await provider.list(soon());
    expect(await provider.stats(sandbox.spec, soon())).toMatchObject({ frozen: true });
    const before = counted.requests;
    await warm.rest(sandbox.spec, soon());
    expect(counted.requests).toBe(before);
    expect(await isFrozen(docker, sandbox.spec.sandboxName)).toBe(true);
  });

  test('is adopted without a word to the engine', async () => {
    await using sandbox = await resting();
    await frozen(sandbox);
    const before = counted.requests;
    expect(before).toBeGreaterThan(0);
    const spec = { ...sandbox.spec, env: { FIRST: 'one' } };
    await warm.adopt(spec, spec, soon());
    expect((await sandbox.sh('echo $FIRST')).stdout.toString()).toBe('one\n');
    expect(counted.requests).toBe(before);
    expect(await isFrozen(installation.docker, spec.sandboxName)).toBe(false);
  });

  test('is taken over, frozen as a killed server left it, by the next one', async () => {
    await using sandbox = await resting();
    await frozen(sandbox);
    await using other = installation.restarted();
    await other.warm.rest(sandbox.spec, soon());
    await frozen(sandbox);
    const before = counted.requests;
    await other.warm.adopt(sandbox.spec, sandbox.spec, soon());
    expect(counted.requests).toBe(before);
  });

  test('is known to be dead at once where its kernel was killed, and replaced by a create', async () => {
    await using sandbox = await resting();
    await frozen(sandbox);
    await kill(sandbox);
    const adopting = warm.adopt(sandbox.spec, sandbox.spec, soon());
    await expect(adopting).rejects.toThrow('has ended while it waited');
    await installation.provider.create(sandbox.spec, soon());
    expect((await sandbox.sh('echo works')).stdout.toString()).toBe('works\n');
    await warm.rest(sandbox.spec, soon());
    await frozen(sandbox);
  });

  test('is dead for a server too that has never talked to it', async () => {
    await using sandbox = await resting();
    await using other = installation.restarted();
    await kill(sandbox);
    const adopting = other.warm.adopt(sandbox.spec, sandbox.spec, soon());
    await expect(adopting).rejects.toMatchObject(unreachable);
    await expect(other.warm.rest(sandbox.spec, soon())).rejects.toMatchObject(unreachable);
  });

  test('is adopted all the same when the link to it broke meanwhile', async () => {
    await using sandbox = await resting();
    await frozen(sandbox);
    counted.hangUp();
    // Its engine may be on its way out, so it is thawed.
    await eventually(async () => {
      expect(await isFrozen(installation.docker, sandbox.spec.sandboxName)).toBe(false);
    });
    await warm.adopt(sandbox.spec, sandbox.spec, soon());
    expect((await sandbox.sh('echo works')).stdout.toString()).toBe('works\n');
  });
});

test('where nothing is frozen, containers wait and are adopted all the same', async () => {
  await using installation = await Installation.make(systemClock, { idleFreezeMs: null, adoptMs });
  const sandbox = await installation.created();
  const { warm } = installation.provider;
  await warm.rest(sandbox.spec, soon());
  expect(await isFrozen(installation.docker, sandbox.spec.sandboxName)).toBe(false);
  await warm.adopt(sandbox.spec, sandbox.spec, soon());
});
