import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { SandboxIncident } from '../../src/domain/provider.ts';
import { plainProfile } from '../../src/providers/gvisor/container-profile.ts';
import type { ContainerProvider } from '../../src/providers/gvisor/provider.ts';
import { TestSandbox, newSpec, soon } from '../conformance/sandbox.ts';
import { eventually } from '../support/eventually.ts';
import { Installation } from '../providers/gvisor/support/installation.ts';

const MiB = 2 ** 20;

describe('plain containers beside gVisor', () => {
  let installation: Installation;
  let plain: ContainerProvider;
  const incidents: SandboxIncident[] = [];
  beforeAll(async () => {
    const onIncident = (incident: SandboxIncident): void => void incidents.push(incident);
    installation = await Installation.make(systemClock, { onIncident });
    plain = installation.beside(plainProfile(true));
  });
  afterAll(async () => {
    await plain[Symbol.asyncDispose]();
    await installation[Symbol.asyncDispose]();
  });

  async function created(memoryBytes = 256 * MiB): Promise<TestSandbox> {
    const base = newSpec(installation.options.image);
    const spec = { ...base, limits: { ...base.limits, memoryBytes } };
    await plain.create(spec, soon());
    return new TestSandbox(plain, spec);
  }

  function incidentOf({ spec }: TestSandbox): Promise<SandboxIncident> {
    return eventually(() => {
      const found = incidents.find(({ workspaceId }) => workspaceId === spec.workspaceId);
      if (!found) throw new Error('nothing was told');
      return found;
    });
  }

  test('each provider lists its own only, and sweeps for both', async () => {
    await using gvisor = await installation.created();
    await using other = await created();
    const names = async (provider: ContainerProvider): Promise<readonly string[]> =>
      (await provider.list(soon())).map(({ sandboxName }) => sandboxName);
    expect(await names(installation.provider)).toEqual([gvisor.spec.sandboxName]);
    expect(await names(plain)).toEqual([other.spec.sandboxName]);
    await plain.stop(other.spec, soon());
    await installation.removeContainer(other.spec);
    expect(await names(installation.provider)).toEqual([gvisor.spec.sandboxName]);
    expect(await names(plain)).toEqual([other.spec.sandboxName]);
    expect(await plain.sweep(true, soon(), 0)).toEqual([]);
  });

  test('too much memory ends the process, not the workspace, and is told with process and size', async () => {
    await using sandbox = await created();
    // Not so fast that the kernel's own limit is reached between two looks.
    const grow = [
      'python3 -c "',
      'import time',
      'blocks = []',
      'while True:',
      "  blocks.append(bytearray(b'x' * (4 << 20)))",
      '  time.sleep(0.01)',
      '"; echo $?',
    ].join('\n');
    expect((await sandbox.sh(grow)).stdout.toString()).toBe('137\n');
    expect((await sandbox.sh('echo alive')).stdout.toString()).toBe('alive\n');
    expect(await incidentOf(sandbox)).toMatchObject({
      kind: 'memory_exceeded',
      detail: { process: 'python3' },
    });
    // Others on the host use more than the limit; that is nothing to this sandbox.
    expect(incidents).toHaveLength(1);
    expect((await plain.stats(sandbox.spec, soon())).memoryBytes).toBeLessThan(128 * MiB);
  });

  test('too much at once, faster than anybody looks, is ended by the kernel and told as well', async () => {
    await using sandbox = await created();
    // Filled with zeros by the kernel itself, so nothing of Python's own speed holds it back.
    const burst =
      'python3 -c "\nimport mmap\nm = mmap.mmap(-1, 8 << 30)\nm.madvise(23)\n"; echo $?';
    const { stdout } = await sandbox.sh(burst);
    expect(stdout.toString()).toBe('137\n');
    expect(await incidentOf(sandbox)).toMatchObject({ kind: 'memory_exceeded' });
    expect((await sandbox.sh('echo alive')).stdout.toString()).toBe('alive\n');
  });

  test('a fork bomb ends at the limit of processes, and the workspace answers', async () => {
    await using sandbox = await created();
    // Told one by one: a shell that cannot start another process may end itself.
    const bomb = 'for i in $(seq 400); do (sleep 300 &) 2>/dev/null || break; echo $i; done';
    const count = Number((await sandbox.sh(bomb)).stdout.toString().split('\n').at(-2));
    expect(count).toBeLessThan(300);
  });
});
