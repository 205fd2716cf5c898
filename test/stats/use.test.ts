import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ScenarioServer, everyProvider } from '../scenarios/support.ts';
import { eventually } from '../support/eventually.ts';

const MiB = 2 ** 20;

/** As the API answers. */
interface Use {
  readonly workspace_id: string;
  readonly status: string;
  readonly at: string | null;
  readonly frozen: boolean;
  readonly cpu_percent: number | null;
  readonly cpu_seconds: number | null;
  readonly cpu_limit: number;
  readonly memory_bytes: number | null;
  readonly memory_limit_bytes: number;
  readonly disk_bytes: number | null;
  readonly disk_limit_bytes: number;
  readonly processes: number | null;
  readonly reason: string | null;
}

describe.each(everyProvider)('what a workspace uses, on %s', (name, settings) => {
  let server: ScenarioServer;
  let id: string;
  beforeAll(async () => {
    server = await ScenarioServer.start(settings);
    const limits = { cpu: 0.5, memory: '512M', disk: '1G' };
    id = await server.create({ resource_limits: limits, network: 'isolated' });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  const use = async (of = id): Promise<Use> => {
    const { status, body } = await server.call('GET', `/${of}/stats`);
    expect(status, JSON.stringify(body)).toBe(200);
    return body as unknown as Use;
  };
  /** A command that goes on until it is killed, once it has said that it is as far as it is wanted. */
  const running = async (command: string, where = id): Promise<AsyncDisposable> => {
    const { body } = await server.call('POST', `/${where}/processes`, { command });
    const path = `/${where}/processes/${body.id}`;
    await eventually(async () => {
      const { body: info } = await server.call('GET', path);
      expect(info).toMatchObject({ status: 'running', output_bytes: 3 });
    });
    return {
      async [Symbol.asyncDispose]() {
        const sent = await fetch(`${server.url}/api/v1/agent/workspaces${path}/signal`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${server.token}`,
            'content-type': 'application/json',
          },
          body: JSON.stringify({ signal: 'SIGKILL' }),
        });
        expect(sent.status).toBe(204);
      },
    };
  };

  test('one in which nothing runs has its limits beside next to nothing', async () => {
    const idle = await use();
    expect(idle).toMatchObject({
      ...{ workspace_id: id, status: 'ready', reason: null, processes: 0 },
      ...{ cpu_limit: 0.5, memory_limit_bytes: 512 * MiB, disk_limit_bytes: 1024 * MiB },
    });
    expect(idle.memory_bytes).toBeLessThan(100 * MiB);
    expect(idle.disk_bytes).toBeLessThan(32 * MiB);
  });

  test('a single question tells how busy it is', async () => {
    const { body: status } = await server.call('GET', '/providers');
    const [{ capabilities }] = status.providers as unknown as readonly [
      { readonly capabilities: { readonly isolation: string } },
    ];
    const limited = capabilities.isolation !== 'none';
    const limits = { cpu: 0.5, memory: '512M', disk: '1G' };
    const fresh = await server.create({ resource_limits: limits, network: 'isolated' });
    {
      await using _busy = await running('echo up; while :; do :; done', fresh);
      expect((await use(fresh)).cpu_percent).not.toBeNull();
      // How much it gets of a host that others use too is not for us to say; nor how late that reads the time.
      await eventually(async () => {
        const { cpu_percent: percent, cpu_seconds: seconds } = await use(fresh);
        expect(seconds).toBeGreaterThan(0);
        expect(percent).toBeGreaterThan(5);
        if (limited) expect(percent).toBeLessThan(90);
      });
    }
    await server.call('DELETE', `/${fresh}`);
  });

  test('memory that a process holds shows', async () => {
    const before = (await use()).memory_bytes ?? Number.NaN;
    const program = `b=b"x"*(200<<20); print("up", flush=True); import time; time.sleep(1000)`;
    await using _hog = await running(`exec python3 -c '${program}'`);
    await eventually(async () => {
      const held = ((await use()).memory_bytes ?? Number.NaN) - before;
      expect(held).toBeGreaterThan(190 * MiB);
      expect(held).toBeLessThan(300 * MiB);
    });
  });

  test('processes are counted, whoever started them', async () => {
    const sleeps = Array.from({ length: 7 }, () => 'sleep 1000 &').join(' ');
    await using _many = await running(`${sleeps} echo up; wait`);
    await eventually(async () => {
      expect((await use()).processes).toBe(8);
    });
  });

  test('what is written shows on the disk, also while it is stopped', async () => {
    const before = (await use()).disk_bytes ?? Number.NaN;
    await server.bash(id, 'head -c 104857600 /dev/urandom > large && sync large');
    await eventually(async () => {
      const written = ((await use()).disk_bytes ?? Number.NaN) - before;
      expect(written).toBeGreaterThanOrEqual(100 * MiB);
      expect(written).toBeLessThan(110 * MiB);
    });
    expect((await server.call('POST', `/${id}/stop`)).status).toBe(200);
    const stopped = await use();
    expect(stopped).toMatchObject({
      ...{ status: 'stopped', frozen: false, reason: null },
      ...{ cpu_percent: null, cpu_seconds: null, memory_bytes: null, processes: null },
    });
    expect(stopped.disk_bytes).toBeGreaterThanOrEqual(100 * MiB);
    await server.call('POST', `/${id}/resume`);
    expect(await use()).toMatchObject({ status: 'ready', processes: 0 });
  });

  test('asking is not a use, and leaves no event', async () => {
    const rowOf = async (): Promise<unknown> => (await server.call('GET', `/${id}`)).body;
    const eventsOf = async (): Promise<unknown> =>
      (await server.callApi('GET', `/events?workspace_id=${id}`)).body.items;
    const [row, events] = [await rowOf(), await eventsOf()];
    await use();
    await server.call('GET', '/stats');
    expect(await rowOf()).toEqual(row);
    expect(await eventsOf()).toEqual(events);
  });

  test('all of them are told together; one that is gone is not there', async () => {
    const other = await server.create({ network: 'isolated' });
    const all = async (): Promise<readonly Use[]> =>
      (await server.call('GET', '/stats')).body.items as unknown as readonly Use[];
    expect((await all()).map(({ workspace_id: one }) => one)).toEqual([other, id]);
    expect((await all()).every(({ at, disk_bytes: disk }) => at !== null && disk !== null)).toBe(
      true,
    );
    await server.call('DELETE', `/${other}`);
    expect((await all()).map(({ workspace_id: one }) => one)).toEqual([id]);
    expect((await server.call('GET', `/${other}/stats`)).status).toBe(404);
  });

  test('a scrape has them, by workspace', async () => {
    const answer = await fetch(`${server.url}/metrics`, {
      headers: { authorization: `Bearer ${server.token}` },
    });
    const text = await answer.text();
    const labels = `workspace="${id}",provider="${name}"`;
    expect(text).toContain(`emergent_workspace_memory_limit_bytes{${labels}} ${String(512 * MiB)}`);
    for (const figure of [
      ...['cpu_seconds_total', 'cpu_limit_cores', 'memory_bytes', 'disk_bytes', 'disk_limit_bytes'],
      ...['processes', 'frozen'],
    ]) {
      expect(text).toMatch(
        new RegExp(`^emergent_workspace_${figure}\\{${labels}\\} [\\d.]+$`, 'm'),
      );
    }
    expect(text).toContain('emergent_workspaces_left_out 0');
    expect(text).toContain('emergent_workspaces_unmeasured 0');
  });
});
