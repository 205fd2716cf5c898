import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventsOf } from '../api/support/sse.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { testHost } from '../support/host.ts';
import { prepareDataDir } from '../support/prepared-data-dir.ts';
import { ServerProcess } from '../support/server-process.ts';

interface ProcessBody {
  readonly id: string;
  readonly status: 'running' | 'exited';
  readonly exit_code: number | null;
  readonly detached: boolean;
  readonly output_bytes: number;
  readonly dropped_bytes: number;
}

/**
 * 3 MB at once, then a number every 50 ms until the workspace holds the file `stop`: it ends when the test says so
 * and not before.
 */
const command =
  'yes 0123456789abcde | head -c 3000000; ' +
  'i=0; until [ -e stop ]; do i=$((i+1)); echo $i; sleep 0.05; done; echo end; exit 7';
const large = '0123456789abcde\n'.repeat(3_000_000 / 16);

// The real server as a process of its own, on real gVisor.
describe('a server killed in the middle of a command', { timeout: 180_000 }, () => {
  const started = new AsyncDisposableStack();
  const token = randomBytes(24).toString('hex');
  let url: string;
  let spawn: () => Promise<ServerProcess>;
  let server: ServerProcess;
  let id: string;

  const request = (
    method: string,
    path: string,
    body?: unknown,
    accept = '*/*',
  ): Promise<Response> =>
    fetch(`${url}/api/v1/agent/workspaces${path}`, {
      method,
      headers: {
        accept,
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      signal: AbortSignal.timeout(120_000),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const call = async (
    status: number,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<string> => {
    const response = await request(method, path, body);
    const text = await response.text();
    expect(response.status, text).toBe(status);
    return text;
  };
  const inspect = async (process: string): Promise<ProcessBody> =>
    JSON.parse(await call(200, 'GET', `/${id}/processes/${process}`)) as ProcessBody;
  const killAndRestart = async (): Promise<void> => {
    await server.kill();
    server = await spawn();
    await server.ready;
  };

  beforeAll(async () => {
    await testHost();
    const directory = await mkdtemp(join(tmpdir(), 'emergent-killed-'));
    started.defer(() => rm(directory, { recursive: true, force: true }));
    const data = join(directory, 'data');
    await prepareDataDir(data);
    const port = await freePort();
    url = `http://127.0.0.1:${String(port)}`;
    spawn = () =>
      ServerProcess.spawn({
        log: join(directory, 'log'),
        env: {
          EMERGENT_ADMIN_TOKEN: token,
          EMERGENT_DATA_DIR: data,
          EMERGENT_LOG_LEVEL: 'warn',
          EMERGENT_PORT: String(port),
        },
      });
    server = await spawn();
    started.defer(() => server.kill());
    await server.ready;
    const created = await call(201, 'POST', '', { network: 'isolated' });
    id = (JSON.parse(created) as { id: string }).id;
    started.defer(async () => {
      await call(200, 'DELETE', `/${id}`);
    });
  });

  afterAll(async () => {
    await started.disposeAsync();
  });

  /** It still runs and goes on; then it is ended, and everything it wrote and how it ended is there. */
  const expectWhole = async (process: string, seenBytes: number): Promise<void> => {
    const { items } = JSON.parse(await call(200, 'GET', `/${id}/processes`)) as {
      items: ProcessBody[];
    };
    const listed = items.find((item) => item.id === process);
    expect(listed).toMatchObject({ status: 'running', exit_code: null });
    const soFar = await call(200, 'GET', `/${id}/processes/${process}/output`);
    expect(soFar.length).toBeGreaterThanOrEqual(seenBytes);
    expect(soFar.startsWith(large)).toBe(true);
    await eventually(async () => {
      expect((await inspect(process)).output_bytes).toBeGreaterThan(soFar.length);
    });

    await call(200, 'POST', `/${id}/bash`, { command: 'touch stop' });
    const following = await request('GET', `/${id}/processes/${process}/output?follow=true`);
    const whole = await following.text();
    const lines = whole.slice(large.length).split('\n');
    const numbers = lines.slice(0, -2);
    expect(whole.slice(0, large.length) === large).toBe(true);
    expect(numbers).toEqual(numbers.map((_, at) => String(at + 1)));
    expect(lines.slice(-2)).toEqual(['end', '']);
    expect(whole.startsWith(soFar)).toBe(true);
    expect(await inspect(process)).toMatchObject({
      ...{ status: 'exited', exit_code: 7, dropped_bytes: 0, output_bytes: whole.length },
    });
    await call(200, 'POST', `/${id}/bash`, { command: 'rm stop' });
  };

  test('the command of a streaming bash runs on, and its whole output and exit code are there', async () => {
    const streaming = await request('POST', `/${id}/bash`, { command }, 'text/event-stream');
    let process = '';
    let seen = 0;
    let restarted: Promise<void> | undefined;
    const reading = (async () => {
      for await (const { event, data } of eventsOf(streaming)) {
        if (event === 'start') process = String(data['process_id']);
        if (event === 'stdout') seen += String(data['text']).length;
        if (event === 'result') throw new Error('the command ended before the server was killed');
        // Past the large part: it is counting. What has come until then is still read.
        if (seen > large.length + 20) restarted ??= killAndRestart();
        await restarted;
      }
    })();
    await expect(reading).rejects.toThrow(/terminated|socket|closed/);
    expect(await inspect(process)).toMatchObject({ detached: false });
    await expectWhole(process, seen);
  });

  test('a detached process runs on without its reader and without the server', async () => {
    const start = await call(201, 'POST', `/${id}/processes`, { command });
    const { id: process } = JSON.parse(start) as ProcessBody;
    // A reader that goes away in the middle.
    const dropped = new AbortController();
    const response = await fetch(
      `${url}/api/v1/agent/workspaces/${id}/processes/${process}/output?follow=true`,
      { headers: { authorization: `Bearer ${token}` }, signal: dropped.signal },
    );
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let seen = 0;
    while (seen < large.length) seen += (await reader.read()).value?.length ?? 0;
    dropped.abort();
    expect(await inspect(process)).toMatchObject({ status: 'running', detached: true });

    await killAndRestart();
    await expectWhole(process, seen);
  });
});
