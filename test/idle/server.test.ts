import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ScenarioServer, passTime, resourcesOf } from '../scenarios/support.ts';
import type { AnswerBody } from '../scenarios/support.ts';
import { FakeClock } from '../support/clock.ts';
import { freePort } from '../support/free-port.ts';
import { testHost } from '../support/host.ts';
import { prepareDataDir } from '../support/prepared-data-dir.ts';
import { ServerProcess } from '../support/server-process.ts';
import { isFrozen, untilFrozen } from './support/frozen.ts';

const settings = { WORKSPACE_IDLE_FREEZE: '1s' };
const minute = 60_000;
/** Freezing takes real time: of a second, several times, and as long as a loaded machine needs. */
const patience = { timeout: 180_000 };

describe('a workspace that nobody uses', patience, () => {
  /** Of the lifecycle; what is idle is frozen by the real one. */
  const clock = new FakeClock(new Date());
  let server: ScenarioServer;
  beforeAll(async () => {
    server = await ScenarioServer.start(settings, undefined, clock);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test('is frozen unseen by its user, and answers as ever', async () => {
    const id = await server.create();
    const frozen = (): Promise<void> => untilFrozen(server.docker, `emergent-${id}`);
    await frozen();
    expect((await server.call('GET', `/${id}`)).body.status).toBe('ready');
    expect((await server.bash(id, 'echo on')).body.stdout).toBe('on\n');
    await frozen();
    const write = { file_path: 'a', content: 'text' };
    expect((await server.call('POST', `/${id}/write`, write)).status).toBe(200);
    await frozen();
    expect((await server.call('POST', `/${id}/stop`)).body.status).toBe('stopped');
    expect((await server.call('POST', `/${id}/resume`)).body.status).toBe('ready');
    await frozen();
    expect((await server.bash(id, 'cat a')).body.stdout).toBe('text');
  });

  test('is destroyed when its time has come, frozen as it is', async () => {
    const id = await server.create({ ttl_seconds: 60 });
    await untilFrozen(server.docker, `emergent-${id}`);
    await passTime(clock, minute);
    await server.event(id, 'workspace.destroyed');
    expect(await resourcesOf(server.docker, id)).toEqual([]);
  });

  test('is thawed when its server stops in order, and frozen again by the next one', async () => {
    const id = await server.create();
    await untilFrozen(server.docker, `emergent-${id}`);
    let meanwhile: boolean | undefined;
    await server.restart({}, async () => {
      meanwhile = await isFrozen(server.docker, `emergent-${id}`);
    });
    expect(meanwhile).toBe(false);
    // It looks at what there is with its first turn.
    await clock.advance(0);
    await untilFrozen(server.docker, `emergent-${id}`);
    expect((await server.bash(id, 'echo on')).body.stdout).toBe('on\n');
  });

  test('is never frozen when that is turned off', async () => {
    await server.restart({ WORKSPACE_IDLE_FREEZE: 'off' });
    const [provider] = (await server.call('GET', '/providers')).body.providers;
    expect(provider).toMatchObject({ details: { idle_freeze: 'off' } });
  });
});

describe('a server that is killed when workspaces are frozen', patience, () => {
  const started = new AsyncDisposableStack();
  const token = randomBytes(24).toString('hex');
  const docker = new Docker();
  const uses = ['used', 'stopped and resumed', 'destroyed'] as const;
  const ids = new Map<string, string>();
  let url: string;
  let spawn: () => Promise<ServerProcess>;
  let server: ServerProcess;

  const call = async (method: string, path: string, body?: unknown): Promise<AnswerBody> => {
    const response = await fetch(`${url}/api/v1/agent/workspaces${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      signal: AbortSignal.timeout(45_000),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as AnswerBody;
  };

  beforeAll(async () => {
    await testHost();
    const directory = await mkdtemp(join(tmpdir(), 'emergent-idle-'));
    started.defer(() => rm(directory, { recursive: true, force: true }));
    await prepareDataDir(directory);
    const port = String(await freePort());
    url = `http://127.0.0.1:${port}`;
    spawn = async () => {
      const process = await ServerProcess.spawn({
        log: join(directory, 'log'),
        env: {
          ...settings,
          EMERGENT_ADMIN_TOKEN: token,
          EMERGENT_DATA_DIR: directory,
          EMERGENT_LOG_LEVEL: 'warn',
          EMERGENT_PORT: port,
        },
      });
      await process.ready;
      return process;
    };
    server = await spawn();
    await Promise.all(
      uses.map(async (use) => {
        const { id } = await call('POST', '');
        ids.set(use, id);
        await untilFrozen(docker, `emergent-${id}`);
      }),
    );
    await server.kill();
    for (const id of ids.values()) expect(await isFrozen(docker, `emergent-${id}`)).toBe(true);
    server = await spawn();
  });
  afterAll(async () => {
    await server.kill();
    await started.disposeAsync();
  });

  test.each<[string, (id: string) => Promise<unknown>]>([
    [
      'used',
      async (id) => {
        expect((await call('POST', `/${id}/bash`, { command: 'echo on' })).stdout).toBe('on\n');
      },
    ],
    [
      'stopped and resumed',
      async (id) => {
        expect((await call('POST', `/${id}/stop`)).status).toBe('stopped');
        expect((await call('POST', `/${id}/resume`)).status).toBe('ready');
      },
    ],
    ['destroyed', () => Promise.resolve()],
  ])('comes back, and a workspace is %s', async (name, use) => {
    const id = ids.get(name) ?? '';
    expect((await call('GET', `/${id}`)).status).toBe('ready');
    await use(id);
    await call('DELETE', `/${id}`);
    expect(await resourcesOf(docker, id)).toEqual([]);
  });
});
