import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ScenarioServer } from '../scenarios/support.ts';
import type { ScenarioEvent } from '../scenarios/support.ts';
import { verifies } from '../support/verifies.ts';

const MiB = 2 ** 20;
const limit = 512 * MiB;

/** Programs that ask for three times the limit, each in its own way. None ends by itself before it has it. */
const hogs = {
  'grows step by step': `
b = bytearray()
while len(b) < 1536 << 20: b += bytes(4 << 20)`,
  'takes twice the limit at once': `b = b'x' * (1024 << 20)
c = b'x' * (512 << 20)`,
  'maps memory and writes to it page by page': `
import mmap
m = mmap.mmap(-1, 1536 << 20)
for at in range(0, len(m), 4096): m[at] = 1`,
  'grows in four threads': `
import threading
def grow():
    b = bytearray()
    while len(b) < 384 << 20: b += bytes(1 << 20)
threads = [threading.Thread(target=grow) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()`,
} as const;

/**
 * All of them together would hold three times the limit. None ends by itself before each has what it wants or was
 * killed, and those that are left fit; how many were killed is what it prints.
 */
const manyChildren = `
import os, time
held, release = os.pipe()
def child(full):
    os.close(release)
    b = bytearray()
    while len(b) < 40 << 20: b += bytes(1 << 20)
    os.write(full, b'.')
    os.read(held, 1)
    os._exit(0)
told = []
for _ in range(40):
    heard, full = os.pipe()
    if os.fork() == 0: child(full)
    os.close(full)
    told.append(heard)
for heard in told: os.read(heard, 1)
def used():
    with open('/proc/meminfo') as lines:
        return sum(int(line.split()[1]) for line in lines if '(anon)' in line)
while used() > 512 << 10: time.sleep(0.05)
os.close(release)
print(sum(os.wait()[1] == 9 for _ in range(40)))`;

describe('memory of a gVisor workspace', () => {
  let server: ScenarioServer;
  let id: string;
  let other: string;
  beforeAll(async () => {
    server = await ScenarioServer.start();
    const resource_limits = { cpu: 2, memory: '512M' };
    [id, other] = await Promise.all([
      server.create({ resource_limits, network: 'isolated' }),
      server.create({ resource_limits, network: 'isolated' }),
    ]);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  const python = (workspace: string, program: string) =>
    server.call('POST', `/${workspace}/bash`, {
      command: `exec python3 -c "$PROGRAM"`,
      env: { PROGRAM: program },
    });

  /** The next incident of a workspace behind an event. */
  const incident = async (workspace: string, after: number): Promise<ScenarioEvent> => {
    for await (const event of server.events(after)) {
      const { workspace_id, type } = event;
      if (workspace_id === workspace && type === 'workspace.memory_exceeded') return event;
    }
    throw new Error('the events ended');
  };

  const bootOf = async (workspace: string) =>
    (await server.docker.getContainer(`emergent-${workspace}`).inspect()).State.StartedAt;

  verifies(
    ['lifecycle/memory-limit-enforcement', 'gvisor/memory-limit-via-docker'],
    'a process that exceeds it dies alone, twelve times over, and the event tells which and how large',
    async () => {
      const started = await bootOf(id);
      const { body: witness } = await server.call('POST', `/${id}/processes`, {
        command: 'exec sleep 100000',
      });
      let after = 0;
      for (let round = 0; round < 3; round++) {
        for (const [name, program] of Object.entries(hogs)) {
          const { body } = await python(id, program);
          expect(body, name).toMatchObject({ exit_code: 137, signal: 'SIGKILL', timed_out: false });
          const event = await incident(id, after);
          expect(event, name).toMatchObject({
            actor: 'sandbox',
            detail: { process: 'python3', limit_bytes: limit },
          });
          const { rss_bytes: rss, used_bytes: used, process_id } = event.detail;
          expect(rss, name).toBeGreaterThan(0.9 * limit);
          expect(used, name).toBeGreaterThan(limit);
          expect(process_id, name).toMatch(/^[0-9a-f-]{36}$/);
          after = event.id;
          expect((await server.bash(id, 'echo alive')).body.stdout).toBe('alive\n');
        }
      }
      expect(await bootOf(id)).toBe(started);
      const { body: still } = await server.call('GET', `/${id}/processes/${witness.id}`);
      expect(still).toMatchObject({ status: 'running' });
    },
    300_000,
  );

  test('many that exceed it together: some die, the others finish, the workspace lives', async () => {
    const started = await bootOf(other);
    for (let round = 0; round < 3; round++) {
      const { body } = await python(other, manyChildren);
      expect(body).toMatchObject({ exit_code: 0, stderr: '' });
      const killed = Number(body.stdout);
      expect(killed).toBeGreaterThan(0);
      expect(killed).toBeLessThan(40);
    }
    expect(await bootOf(other)).toBe(started);
  }, 300_000);

  test('a hog in one workspace leaves the other alone', async () => {
    const [hog, neighbour] = await Promise.all([
      python(id, hogs['grows step by step']),
      python(other, `b = bytearray(256 << 20); print(len(b))`),
    ]);
    expect(hog.body.exit_code).toBe(137);
    expect(neighbour.body).toMatchObject({ exit_code: 0, stdout: `${String(256 * MiB)}\n` });
  });

  test('what stays below it is never killed, however fast it gets there', async () => {
    const fill = `b = b'x' * (${String(Math.floor(0.9 * limit))} - (24 << 20)); print(len(b))`;
    for (let round = 0; round < 5; round++) {
      expect((await python(id, fill)).body).toMatchObject({ exit_code: 0 });
    }
  });

  test('files that are only cached do not count', async () => {
    const { body } = await server.bash(
      id,
      `set -e
       head -c 700M /dev/zero > big
       cat big big > /dev/null
       python3 -c "
import mmap
with open('big', 'r+b') as f:
    m = mmap.mmap(f.fileno(), 0)
    print(sum(m[at] for at in range(0, len(m), 4096)))"
       rm big`,
    );
    expect(body).toMatchObject({ exit_code: 0, stdout: '0\n' });
  }, 180_000);

  test('/tmp is bounded, and full before memory is; programs run from there', async () => {
    const full = await server.bash(id, 'head -c 600M /dev/zero > /tmp/big; rm /tmp/big');
    expect(full.body).toMatchObject({ exit_code: 0 });
    expect(full.body).toHaveProperty('stderr', expect.stringContaining('No space left on device'));
    const run = await server.bash(id, 'cp /bin/true /tmp/runs && /tmp/runs && rm /tmp/runs');
    expect(run.body.exit_code).toBe(0);
  });

  test('the workspace says how it is watched, and what was granted as it was asked for', async () => {
    const { body } = await server.call('GET', `/${id}`);
    expect(body).toMatchObject({
      resource_limits: { memory: '512M' },
      metadata: { memory_mode: 'watchdog' },
    });
  });

  test('what happened before a server started is told to it once', async () => {
    const before = await recordedIncidents(server, id);
    await server.restart();
    expect((await server.bash(id, 'echo alive')).body.stdout).toBe('alive\n');
    const { body } = await python(id, hogs['grows step by step']);
    expect(body.exit_code).toBe(137);
    const last = before[0]?.id ?? 0;
    await incident(id, last);
    const since = (await recordedIncidents(server, id)).filter((event) => event.id > last);
    expect(since).toHaveLength(1);
  });
});

/** Newest first. */
async function recordedIncidents(server: ScenarioServer, id: string): Promise<ScenarioEvent[]> {
  const path = `/events?workspace_id=${id}&type=workspace.memory_exceeded&limit=200`;
  const { body } = await server.callApi('GET', path);
  return body.items as unknown as ScenarioEvent[];
}
