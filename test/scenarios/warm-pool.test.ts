import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { resourcesOf, ScenarioServer } from './support.ts';
import type { ScenarioEvent } from './support.ts';

interface Pool {
  readonly name: string;
  readonly size: number;
  readonly ready: number;
  readonly creating: number;
  readonly state: string;
  readonly provider: string | null;
}

interface PoolBody {
  readonly pools: readonly [Pool, ...Pool[]];
  readonly hits: Readonly<Record<string, number>>;
  readonly misses: Readonly<Record<string, number>>;
}

async function poolOf(server: ScenarioServer): Promise<PoolBody> {
  return (await server.call('GET', '/pool')).body as unknown as PoolBody;
}

/** Looks after every event that a pool's member leaves, from the first on, until the pool is as wanted. */
async function untilPool(
  server: ScenarioServer,
  wanted: (pool: Pool, warm: readonly string[]) => boolean,
): Promise<readonly string[]> {
  const about = (event: ScenarioEvent): boolean =>
    ['workspace.warm', 'workspace.destroyed', 'pool.resized'].includes(event.type);
  for await (const event of server.events(0)) {
    if (!about(event)) continue;
    const [pool] = (await poolOf(server)).pools;
    const warm = await warmIds(server);
    if (warm.length === pool.ready && wanted(pool, warm)) return warm;
  }
  throw new Error('the events ended');
}

function full(pool: Pool): boolean {
  return pool.ready === pool.size && pool.creating === 0;
}

/** Full, and of others than these. */
function fullWithout(ids: readonly string[]) {
  return (pool: Pool, warm: readonly string[]): boolean =>
    full(pool) && !warm.some((id) => ids.includes(id));
}

async function warmIds(server: ScenarioServer): Promise<readonly string[]> {
  const { body } = await server.call('GET', '?status=warm');
  return body.items.map(({ id }) => id).toSorted();
}

async function containerOf(server: ScenarioServer, id: string): Promise<string> {
  return (await server.docker.getContainer(`emergent-${id}`).inspect()).Id;
}

describe('the warm pool of a server', () => {
  let server: ScenarioServer;
  beforeAll(async () => {
    server = await ScenarioServer.start({ WORKSPACE_WARM_POOL_SIZE: '2' });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  verifies(
    [
      'lifecycle/warm-pool-initialization-on-server-start',
      'orchestration/warm-pool-uses-default-provider',
    ],
    'is filled when it starts, on the provider that auto would choose, and nobody sees it in the list',
    async () => {
      const warm = await untilPool(server, full);
      expect(warm).toHaveLength(2);
      for (const id of warm) {
        const { State: state } = await server.docker.getContainer(`emergent-${id}`).inspect();
        expect(state.Running).toBe(true);
      }
      expect((await poolOf(server)).pools[0]).toMatchObject({ provider: 'gvisor', state: 'ready' });
      expect((await server.call('GET', '')).body.items).toEqual([]);
    },
  );

  verifies(
    [
      'lifecycle/workspace-creation-with-warm-pool-hit',
      'lifecycle/warm-pool-replenishment-after-assignment',
      'orchestration/warm-pool-container-matches-request',
    ],
    'gives a create one that was waiting, with an empty disk and its own environment, and makes another',
    async () => {
      const before = await untilPool(server, full);
      const containers = new Set(await Promise.all(before.map((id) => containerOf(server, id))));
      const id = await server.create({ env: { GREETING: 'hello from outside' } });
      expect(before).toContain(id);
      expect(containers).toContain(await containerOf(server, id));
      const { body } = await server.call('GET', `/${id}`);
      expect(body).toMatchObject({
        ...{ status: 'ready', provider: 'gvisor' },
        metadata: { warm_pool: 'default', attempts: [{ provider: 'gvisor', result: 'adopted' }] },
      });
      const said = await server.bash(id, 'echo "$GREETING"; ls -A /workspace | grep -v lost+found');
      expect(said.body.stdout).toBe('hello from outside\n');
      const after = await untilPool(server, fullWithout([id]));
      expect(after.filter((each) => before.includes(each))).toHaveLength(1);
      expect((await poolOf(server)).hits).toEqual({ default: 1 });
      await server.call('DELETE', `/${id}`);
      expect(await resourcesOf(server.docker, id)).toEqual([]);
    },
  );

  verifies(
    [
      'lifecycle/workspace-creation-with-warm-pool-miss',
      'orchestration/warm-pool-miss-triggers-cold-start-with-correct-provider',
    ],
    'is passed over by a create that wants something else, and the miss is counted',
    async () => {
      const warm = await untilPool(server, full);
      const id = await server.create({ resource_limits: { memory: '1G' } });
      expect(warm).not.toContain(id);
      const { body } = await server.call('GET', `/${id}`);
      expect(body).toMatchObject({
        ...{ provider: 'gvisor', status: 'ready' },
        metadata: { attempts: [{ provider: 'gvisor', result: 'created' }] },
      });
      expect((await poolOf(server)).misses).toMatchObject({ no_pool: 1 });
      const metrics = await fetch(`${server.url}/metrics`, {
        headers: { authorization: `Bearer ${server.token}` },
      });
      const text = await metrics.text();
      expect(text).toContain('emergent_warm_pool_misses_total{reason="no_pool"} 1');
      await server.call('DELETE', `/${id}`);
    },
  );

  test('never hands out one that has died', async () => {
    const warm = await untilPool(server, full);
    for (const id of warm) {
      const { State: state } = await server.docker.getContainer(`emergent-${id}`).inspect();
      // The sandbox's kernel: the engine could not kill one that is frozen.
      process.kill(state.Pid, 'SIGKILL');
    }
    const id = await server.create();
    expect((await server.bash(id, 'echo alive')).body.stdout).toBe('alive\n');
    // The other one is found dead when the engine knows of it.
    await untilPool(server, fullWithout(warm));
    await server.call('DELETE', `/${id}`);
  });

  verifies(
    ['lifecycle/warm-pool-size-adjustment'],
    'follows a change of its size, up and down',
    async () => {
      const { status } = await server.call('PATCH', '/pool', { size: 4 });
      expect(status).toBe(200);
      expect(await untilPool(server, full)).toHaveLength(4);
      await server.call('PATCH', '/pool', { size: 1 });
      const one = await untilPool(server, (pool, warm) => full(pool) && warm.length === 1);
      await server.call('PATCH', '/pool', { size: 2 });
      expect(await untilPool(server, full)).toEqual(expect.arrayContaining([...one]));
    },
  );

  test('survives a restart: none is lost, none is made anew, and they are handed out', async () => {
    const before = await untilPool(server, full);
    const containers = await Promise.all(before.map((id) => containerOf(server, id)));
    await server.restart();
    expect(await untilPool(server, full)).toEqual(before);
    expect(await Promise.all(before.map((id) => containerOf(server, id)))).toEqual(containers);
    const id = await server.create();
    expect(before).toContain(id);
    expect((await server.bash(id, 'echo here')).body.stdout).toBe('here\n');
    await server.call('DELETE', `/${id}`);
  });

  test('is rolled over when the image of its name is another, and is gone when it is turned off', async () => {
    const before = await untilPool(server, full);
    const [first = ''] = before;
    const { Image: image } = await server.docker.getContainer(`emergent-${first}`).inspect();
    const tag = { repo: 'emergent-test-drift', tag: first };
    await server.docker.getImage(image).tag(tag);
    const name = `${tag.repo}:${tag.tag}`;
    try {
      await server.restart({ WORKSPACE_DEFAULT_IMAGE: name });
      const made = await untilPool(server, fullWithout(before));
      // The same name, another image.
      const other = await server.docker.createContainer({ Image: image });
      await other.commit({ ...tag, comment: 'another' });
      await other.remove();
      await untilPool(server, fullWithout(made));
      await server.call('PATCH', '/pool', { size: 0 });
      await untilPool(server, ({ state }) => state === 'off');
    } finally {
      await server.docker.getImage(name).remove({ force: true });
    }
  });
});
