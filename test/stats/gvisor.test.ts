import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SandboxRef } from '../../src/domain/provider.ts';
import { ContainerEngine } from '../../src/providers/gvisor/container-engine.ts';
import { ContainerProvider } from '../../src/providers/gvisor/provider.ts';
import { cgroupMounts, placesOf } from '../../src/providers/gvisor/stats/cgroup-mounts.ts';
import { soon } from '../conformance/sandbox.ts';
import { Installation } from '../providers/gvisor/support/installation.ts';
import { eventually } from '../support/eventually.ts';

const MiB = 2 ** 20;

describe('stats of a sandbox under gVisor', () => {
  let installation: Installation;
  beforeAll(async () => {
    // Only tests freeze here.
    installation = await Installation.make(undefined, { idleFreezeMs: null });
  });
  afterAll(async () => {
    await installation[Symbol.asyncDispose]();
  });

  const groupsOf = async ({ sandboxName }: SandboxRef) => {
    const { Id, State } = await installation.docker.getContainer(sandboxName).inspect();
    const text = await readFile(`/proc/${String(State.Pid)}/cgroup`, 'utf8');
    const mounts = cgroupMounts(await readFile('/proc/self/mountinfo', 'utf8'));
    const places = placesOf(text, Id, mounts);
    if (places?.freezer === undefined) throw new Error('this host has no freezer');
    return { ...places, freezer: places.freezer };
  };
  const freeze = async (ref: SandboxRef): Promise<AsyncDisposable> => {
    const { version, freezer } = await groupsOf(ref);
    const [file, on, off, told, frozen] =
      version === 1
        ? ['freezer.state', 'FROZEN', 'THAWED', 'freezer.state', /^FROZEN$/m]
        : ['cgroup.freeze', '1', '0', 'cgroup.events', /^frozen 1$/m];
    const path = join(freezer, file);
    await writeFile(path, on);
    // Its threads stop one after the other.
    await eventually(async () => {
      expect(await readFile(join(freezer, told), 'utf8')).toMatch(frozen);
    });
    return { [Symbol.asyncDispose]: () => writeFile(path, off) };
  };

  test('one that is frozen is told of without waking it, and answers when it is thawed', async () => {
    await using sandbox = await installation.created();
    const { spec } = sandbox;
    const before = await installation.provider.stats(spec, soon());
    expect(before).toMatchObject({ frozen: false, processes: 0 });
    {
      await using _frozen = await freeze(spec);
      const frozen = await installation.provider.stats(spec, soon());
      expect(frozen).toMatchObject({ frozen: true, processes: 0 });
      expect(frozen.memoryBytes).toBeLessThanOrEqual(before.memoryBytes ?? Number.NaN);
      expect(frozen.diskBytes).toBe(before.diskBytes);
      const again = await installation.provider.stats(spec, soon());
      expect(again.cpuSeconds).toBe(frozen.cpuSeconds);

      // Another server has nothing that the sandbox said.
      await using restarted = installation.restarted();
      const other = await restarted.stats(spec, soon());
      expect(other).toMatchObject({ frozen: true, processes: 0 });
      expect(other.memoryBytes).toBeGreaterThan(0);
    }
    expect(await installation.provider.stats(spec, soon())).toMatchObject({
      ...{ frozen: false, processes: 0 },
    });
  });

  test('being asked again and again neither wakes it nor keeps it from being frozen', async () => {
    await using idle = await Installation.make(undefined, { idleFreezeMs: 300 });
    await using sandbox = await idle.created();
    const stats = () => idle.provider.stats(sandbox.spec, soon());
    await eventually(async () => {
      expect(await stats()).toMatchObject({ frozen: true, processes: 0 });
    });
    // The threads of its kernel stop one after the other.
    await eventually(async () => {
      const [first, second] = [await stats(), await stats()];
      expect(first).toMatchObject({ frozen: true, cpuSeconds: second.cpuSeconds });
    });
    expect((await sandbox.run(['echo', 'awake'])).stdout.toString()).toBe('awake\n');
  });

  test('one that hangs is told of by the host, in time', async () => {
    await using sandbox = await installation.created();
    // As far as anybody can see it runs, but its agent does not answer.
    await installation.replaceContainer(sandbox.spec, ['sleep', '1000']);
    await installation.docker.getContainer(sandbox.spec.sandboxName).start();
    const told = await installation.provider.stats(sandbox.spec, soon());
    expect(told).toMatchObject({ frozen: false, processes: null });
    expect(told.cpuSeconds).toBeGreaterThan(0);
    expect(told.memoryBytes).toBeGreaterThan(0);
    expect(told.diskBytes).toBeLessThan(32 * MiB);
  });

  test('CPU is counted alike by the host and by the engine', async () => {
    await using sandbox = await installation.created();
    await sandbox.run(['python3', '-c', 'sum(range(3_000_000))']);
    const container = installation.docker.getContainer(sandbox.spec.sandboxName);
    await using _frozen = await freeze(sandbox.spec);
    const { cpu_stats: cpu } = await container.stats({ stream: false, 'one-shot': true });
    const { cpuSeconds } = await installation.provider.stats(sandbox.spec, soon());
    expect(cpuSeconds).toBeCloseTo(cpu.cpu_usage.total_usage / 1e9, 3);
  });

  test('of nothing there is nothing to tell', async () => {
    const { spec } = installation.sandbox();
    await expect(installation.provider.stats(spec, soon())).rejects.toMatchObject({
      code: 'sandbox_unreachable',
    });
  });

  test('an engine that is not there is named', async () => {
    const dockerHost = `unix://${join(tmpdir(), `no-engine-${randomUUID()}.sock`)}`;
    await using engine = new ContainerEngine({ ...installation.options, dockerHost });
    await using away = new ContainerProvider(engine, installation.options.profile);
    await expect(away.stats(installation.sandbox().spec, soon())).rejects.toMatchObject({
      code: 'provider_unavailable',
      message: expect.stringContaining('Docker engine unreachable') as unknown,
    });
  });

  test('an engine that does not answer is not waited for', async () => {
    const silent = createServer(() => undefined);
    const socket = join(tmpdir(), `silent-${randomUUID()}.sock`);
    silent.listen(socket);
    await once(silent, 'listening');
    try {
      const options = { ...installation.options, dockerHost: `unix://${socket}` };
      await using engine = new ContainerEngine(options);
      await using away = new ContainerProvider(engine, options.profile);
      const spec = installation.sandbox().spec;
      await expect(away.stats(spec, soon())).rejects.toThrow(/did not finish within 2000 ms/);
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  });
});
