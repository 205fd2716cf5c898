import { readdir, stat } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CreatedSandbox } from '../../src/domain/provider.ts';
import { volumeName } from '../../src/providers/gvisor/container-spec.ts';
import { TestSandbox, newSpec, soon } from '../conformance/sandbox.ts';
import { diskState, nothing, tool } from '../providers/gvisor/support/disk-state.ts';
import { Installation } from '../providers/gvisor/support/installation.ts';
import { verifies } from '../support/verifies.ts';

const mb = 2 ** 20;
const limit = 96 * mb;

/** The disk limit, shown by exceeding it on real sandboxes. */
describe('the disk limit', () => {
  let installation: Installation;
  const directory = (): string => installation.options.diskDir;

  beforeAll(async () => {
    installation = await Installation.make();
  });
  afterAll(async () => {
    const left = await installation.clean();
    const disks = await diskState(directory());
    await installation[Symbol.asyncDispose]();
    expect({ left, ...disks }).toEqual({ left: [], ...nothing });
  });

  function sandboxOf(diskBytes: number): TestSandbox {
    const spec = newSpec(installation.options.image);
    const limits = { ...spec.limits, diskBytes };
    return new TestSandbox(installation.provider, { ...spec, limits });
  }

  async function created(diskBytes = limit): Promise<[TestSandbox, CreatedSandbox]> {
    const sandbox = sandboxOf(diskBytes);
    return [sandbox, await installation.provider.create(sandbox.spec, soon())];
  }

  verifies(
    ['lifecycle/disk-quota-enforcement', 'gvisor/disk-quota-via-docker-volume'],
    'is held by ENOSPC: reads, deletes and commands go on, others do not notice',
    async () => {
      const [[sandbox, { metadata, limits }], [neighbour]] = await Promise.all([
        created(),
        created(),
      ]);
      expect(metadata).toMatchObject({ disk_mode: 'loop', disk_scope: '/workspace' });
      expect(limits.diskBytes).toBe(limit);
      await sandbox.write('kept.txt', Buffer.from('kept'));

      const flood = sandbox.sh('dd if=/dev/zero of=flood bs=1M count=20000');
      expect((await neighbour.sh('dd if=/dev/zero of=own bs=1M count=8; echo ok')).exitCode).toBe(
        0,
      );
      const ended = await flood;
      expect(ended.exitCode).not.toBe(0);
      expect(ended.stderr.toString()).toContain('No space left on device');

      const { size } = await stat((await imageFiles())[0] ?? '');
      expect(size).toBe(limit);
      expect((await sandbox.read('kept.txt')).toString()).toBe('kept');
      const refused = sandbox.write('more', Buffer.alloc(8 * mb));
      await expect(refused).rejects.toMatchObject({ code: 'disk_full' });
      expect((await sandbox.sh('cat kept.txt; ls /workspace | sort')).stdout.toString()).toBe(
        'keptflood\nkept.txt\n',
      );

      expect(
        (await sandbox.sh('rm flood && dd if=/dev/zero of=small bs=1M count=8')).exitCode,
      ).toBe(0);
      await neighbour.write('fine', Buffer.alloc(mb));
      await Promise.all([sandbox.destroy(), neighbour.destroy()]);
    },
    120_000,
  );

  test('the volume has the name of the spec, starts empty and belongs to root', async () => {
    const [sandbox] = await created();
    const name = volumeName(sandbox.spec.workspaceId);
    const { Mounts } = await installation.docker.getContainer(sandbox.spec.sandboxName).inspect();
    expect(Mounts).toContainEqual(
      expect.objectContaining({ Type: 'volume', Name: name, Destination: '/workspace' }),
    );
    const looked = await sandbox.sh('ls -A /workspace; stat -c "%u:%g %a" /workspace');
    expect(looked.stdout.toString()).toBe('0:0 755\n');
    await sandbox.destroy();
  });

  test('holds after stop and resume, with the same files', async () => {
    const [sandbox] = await created();
    await sandbox.write('kept.txt', Buffer.from('kept'));
    await installation.provider.stop(sandbox.spec, soon());
    const { metadata } = await installation.provider.resume(sandbox.spec, sandbox.spec, soon());
    expect(metadata).toMatchObject({ disk_mode: 'loop' });
    await stillLimited(sandbox);
    await sandbox.destroy();
  });

  test('holds after a reboot of the host, also when the container is gone', async () => {
    const [sandbox] = await created();
    await sandbox.write('kept.txt', Buffer.from('kept'));
    for (const containerIsGone of [false, true]) {
      await installation.provider.stop(sandbox.spec, soon());
      if (containerIsGone) await installation.removeContainer(sandbox.spec);
      await reboot();
      // What the engine would do if anybody else started it: it must not get an unlimited directory.
      if (!containerIsGone) {
        const container = installation.docker.getContainer(sandbox.spec.sandboxName);
        await expect(container.start()).rejects.toThrow(/no such file or directory/);
      }
      await using other = installation.restarted();
      await other.resume(sandbox.spec, sandbox.spec, soon());
      await stillLimited(sandbox);
    }
    await sandbox.destroy();
  });

  test('the engine does not remove the volume of a mounted disk behind our back', async () => {
    const [sandbox] = await created();
    await sandbox.write('kept.txt', Buffer.from('kept'));
    await installation.removeContainer(sandbox.spec);
    const volume = installation.docker.getVolume(volumeName(sandbox.spec.workspaceId));
    await expect(volume.remove()).rejects.toThrow(/outside of the local volume root/i);
    await installation.provider.resume(sandbox.spec, sandbox.spec, soon());
    await stillLimited(sandbox);
    await sandbox.destroy();
  });

  test('files that are lost with the disk are said to be lost', async () => {
    const [sandbox] = await created();
    await installation.provider.stop(sandbox.spec, soon());
    await reboot();
    for (const image of await imageFiles()) await tool('rm', image);
    const [found] = await installation.provider.list(soon());
    expect(found).toMatchObject({ hasFiles: false });
    const resuming = installation.provider.resume(sandbox.spec, sandbox.spec, soon());
    await expect(resuming).rejects.toMatchObject({ code: 'files_lost' });
    await sandbox.destroy();
  });

  test('a disk without volume and container is found, and destroyed by what was found', async () => {
    const [sandbox] = await created();
    await installation.removeContainer(sandbox.spec);
    await installation.removeVolume(sandbox.spec);
    const found = await installation.provider.list(soon());
    expect(found).toMatchObject([{ workspaceId: sandbox.spec.workspaceId, hasFiles: true }]);
    expect(found[0]?.parts).toEqual([
      expect.stringMatching(/^disk .*\.img$/),
      expect.stringMatching(/^mount point /),
    ]);
    for (const ref of found) await installation.provider.destroy(ref, soon());
    expect(await diskState(directory())).toEqual(nothing);
  });

  test('a failed create leaves no disk', async () => {
    const { spec } = sandboxOf(limit);
    // What the engine refuses only when the disk and its volume are there.
    const failing = installation.provider.create({ ...spec, sandboxName: 'no/name' }, soon());
    await expect(failing).rejects.toMatchObject({ code: 'provider_failed' });
    expect(await diskState(directory())).toEqual(nothing);
  });

  test('more than the host has is granted as far as it goes', async () => {
    const [sandbox, { limits }] = await created(512 * 2 ** 40);
    expect(limits.diskBytes).toBeLessThan(17 * 2 ** 40);
    expect((await stat((await imageFiles())[0] ?? '')).size).toBe(limits.diskBytes);
    await sandbox.destroy();
  });

  test('20 workspaces come and go, beside one that stays, and leave nothing', async () => {
    const [staying] = await created();
    const before = await diskState(directory());
    for (let round = 0; round < 5; round++) {
      const several = await Promise.all(Array.from({ length: 4 }, () => created()));
      await Promise.all(
        several.map(async ([sandbox]) => {
          await sandbox.sh('dd if=/dev/zero of=some bs=1M count=4');
          await sandbox.destroy();
        }),
      );
    }
    expect(await diskState(directory())).toEqual(before);
    await staying.destroy();
    expect(await diskState(directory())).toEqual(nothing);
  }, 180_000);

  async function stillLimited(sandbox: TestSandbox): Promise<void> {
    expect((await sandbox.read('kept.txt')).toString()).toBe('kept');
    const flood = await sandbox.sh('dd if=/dev/zero of=flood bs=1M count=2000; rm flood');
    expect(flood.stderr.toString()).toContain('No space left on device');
  }

  async function imageFiles(): Promise<readonly string[]> {
    const found = await readdir(directory(), { recursive: true, withFileTypes: true });
    return found
      .filter(({ name }) => name.endsWith('.img'))
      .map(({ parentPath, name }) => `${parentPath}/${name}`);
  }

  /** As far as disks are concerned: what was mounted is not, and no loop device knows its file. */
  async function reboot(): Promise<void> {
    const { mounts } = await diskState(directory());
    for (const point of mounts) await tool('umount', '--lazy', point);
    // A container that starts elsewhere has, for a moment, a copy of every mount of the host.
    const devices = async (): Promise<readonly string[]> =>
      (await diskState(directory())).loopDevices;
    await expect.poll(devices, { timeout: 45_000 }).toEqual([]);
  }
});
