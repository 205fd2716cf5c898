import { readFile, readdir, rm, stat } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tool } from '../providers/gvisor/support/disk-state.ts';
import { startPrivateEngine } from '../support/engine.ts';
import type { PrivateEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { testHost } from '../support/host.ts';
import { verifies } from '../support/verifies.ts';
import { ScenarioServer, diskOf, resourcesOf } from './support.ts';
import type { Disk } from './support.ts';

const container = (id: string): string => `emergent-${id}`;
const volume = (id: string): string => `agent-workspace-${id}`;

describe('the files of a workspace', () => {
  let engine: PrivateEngine;
  let server: ScenarioServer;
  beforeAll(async () => {
    const { image } = await testHost();
    engine = await startPrivateEngine({ images: [image] });
    server = await ScenarioServer.start({ DOCKER_HOST: `unix://${engine.socket}` }, engine.docker);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  const withFile = async (): Promise<string> => {
    const id = await server.create({ network: 'isolated' });
    const { body } = await server.bash(
      id,
      'printf kept > file && ln -s file link && mkdir -m 700 private && echo outside > /opt/outside',
    );
    expect(body.exit_code).toBe(0);
    return id;
  };
  const look = async (id: string): Promise<string> => {
    const { body } = await server.bash(id, 'cat link && stat -c " %a" private');
    return body.stdout;
  };
  const outside = async (id: string): Promise<string> =>
    (await server.bash(id, 'cat /opt/outside 2>/dev/null')).body.stdout;
  /** Waits until the workspace is ready once more after this event. */
  const readyAfter = async (id: string, after: number): Promise<void> => {
    for await (const event of server.events(after)) {
      if (event.workspace_id === id && event.type === 'workspace.ready') return;
    }
    throw new Error('the events ended');
  };
  const lastEvent = async (): Promise<number> => {
    const { body } = await server.callApi('GET', '/events');
    return Math.max(...(body.items as unknown as { id: number }[]).map(({ id }) => id));
  };

  verifies(
    ['gvisor/volume-persists-across-container-stop-start'],
    'are there after stop and start, in the old container or in a new one on the same volume',
    async () => {
      const id = await withFile();
      const mounts = async (): Promise<readonly unknown[]> => {
        const { Id, Mounts } = await server.docker.getContainer(container(id)).inspect();
        const mounted = Mounts.find(({ Destination }) => Destination === '/workspace');
        return [Id, mounted?.Name];
      };
      const [first, name] = await mounts();
      expect(name).toBe(volume(id));
      await server.call('POST', `/${id}/stop`);
      await server.call('POST', `/${id}/resume`);
      expect(await look(id)).toBe('kept 700\n');
      expect(await outside(id)).toBe('outside\n');

      await server.call('POST', `/${id}/stop`);
      await server.docker.getContainer(container(id)).remove();
      const { body } = await server.call('POST', `/${id}/resume`);
      expect(body).toMatchObject({
        status: 'ready',
        metadata: { rebuilt: { why: 'its container was gone' } },
      });
      const [next, same] = await mounts();
      expect(next).not.toBe(first);
      expect(same).toBe(volume(id));
      expect(await look(id)).toBe('kept 700\n');
      expect(await outside(id)).toBe('');
      await server.call('DELETE', `/${id}`);
    },
  );

  test('come back by themselves after a reboot, whatever of container and volume is left', async () => {
    const [whole, stopped, noContainer, onlyDisk] = await Promise.all([
      withFile(),
      withFile(),
      withFile(),
      withFile(),
    ]);
    const ids = { whole, stopped, noContainer, onlyDisk };
    await server.call('POST', `/${ids.stopped}/stop`);
    const disks = await Promise.all(Object.values(ids).map((id) => diskOf(server.docker, id)));
    const before = await lastEvent();
    const { docker } = engine;
    await server.restart({}, async () => {
      await engine.cutPower();
      await Promise.all(disks.map(detach));
      await engine.start();
      for (const id of [ids.noContainer, ids.onlyDisk]) {
        await docker.getContainer(container(id)).remove({ force: true });
      }
      await docker.getVolume(volume(ids.onlyDisk)).remove();
    });
    for (const id of [ids.whole, ids.noContainer, ids.onlyDisk]) {
      await readyAfter(id, before);
      expect(await look(id)).toBe('kept 700\n');
    }
    expect(await outside(ids.whole)).toBe('outside\n');
    expect(await outside(ids.onlyDisk)).toBe('');
    const { actor, detail } = await server.event(ids.whole, 'workspace.resuming');
    expect([actor, detail['reason']]).toEqual([
      'reconciler',
      expect.stringContaining('its sandbox does not run') as unknown,
    ]);

    expect((await server.call('GET', `/${ids.stopped}`)).body.status).toBe('stopped');
    await server.call('POST', `/${ids.stopped}/resume`);
    expect(await look(ids.stopped)).toBe('kept 700\n');
    await Promise.all(Object.values(ids).map((id) => server.call('DELETE', `/${id}`)));
  });

  test('say exactly what is lost where no disk is left either, and that recovering cannot help', async () => {
    const id = await withFile();
    const disk = await diskOf(server.docker, id);
    await server.restart({}, async () => {
      await engine.cutPower();
      await detach(disk);
      await rm(disk.image);
      await engine.start();
    });
    await server.event(id, 'workspace.error');
    const { body } = await server.call('GET', `/${id}`);
    expect(body).toMatchObject({
      status: 'error',
      status_reason: expect.stringContaining('its files are gone') as unknown,
    });
    const recover = await server.call('POST', `/${id}/recover`);
    expect([recover.status, recover.body.error.code]).toEqual([409, 'files_lost']);
    expect((await server.call('DELETE', `/${id}`)).status).toBe(200);
    expect(await resourcesOf(engine.docker, id)).toEqual([]);
  });

  verifies(
    ['gvisor/volume-cleanup-on-workspace-destroy'],
    'give all their space back when it is destroyed',
    async () => {
      const usedBefore = await spaceOf(engine);
      const id = await server.create({ network: 'isolated' });
      const { image, mount } = await diskOf(server.docker, id);
      await server.bash(
        id,
        'head -c 64M /dev/urandom > big && head -c 16M /dev/urandom > /opt/big',
      );
      await server.bash(id, 'sync');
      const { blocks } = await stat(image);
      expect(blocks * 512).toBeGreaterThan(64 * 2 ** 20);
      expect((await spaceOf(engine)).layers).toBeGreaterThan(usedBefore.layers + 16 * 2 ** 20 - 1);

      expect((await server.call('DELETE', `/${id}`)).status).toBe(200);
      await expect(stat(image)).rejects.toMatchObject({ code: 'ENOENT' });
      expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(mount);
      expect((await loopFiles()).filter((file) => file.startsWith(image))).toEqual([]);
      expect(await spaceOf(engine)).toEqual(usedBefore);
    },
  );
});

/** What the engine keeps for containers and volumes. */
async function spaceOf({ docker }: PrivateEngine): Promise<{ layers: number; volumes: number }> {
  const use = (await docker.df()) as {
    readonly Containers: readonly { readonly SizeRw?: number }[] | null;
    readonly Volumes: readonly { readonly Name: string }[] | null;
  };
  const sizes = (use.Containers ?? []).map(({ SizeRw: size }) => size ?? 0);
  return {
    layers: sizes.reduce((sum, size) => sum + size, 0),
    volumes: (use.Volumes ?? []).length,
  };
}

/** As a reboot leaves a disk: not mounted, and no loop device knows its file, as soon as the last user has let go. */
async function detach({ image, mount }: Disk): Promise<void> {
  await tool('umount', '--recursive', '--lazy', mount);
  await eventually(async () => {
    expect((await loopFiles()).filter((file) => file.startsWith(image))).toEqual([]);
  });
}

async function loopFiles(): Promise<readonly string[]> {
  const devices = (await readdir('/sys/block')).filter((name) => name.startsWith('loop'));
  return Promise.all(
    devices.map((name) => readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '')),
  );
}
