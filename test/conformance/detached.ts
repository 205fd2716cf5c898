import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { TestContext } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { Bench } from './provider.ts';
import { Conversation, soon } from './sandbox.ts';
import { Table, textOf, whole } from './table.ts';

const unknown = { code: 'process_not_found' };

export function detachedTests(bench: Bench): void {
  const test = (name: string, run: (table: Table, context: TestContext) => Promise<void>): void => {
    bench.test(name, async (context) => {
      const { processes } = bench.provider();
      if (!processes) return context.skip('declares no processes');
      await run(new Table(processes, bench), context);
    });
  };

  test('starts, is listed while it runs and after it has ended', async (table) => {
    const before = Date.now();
    const { id, ...started } = await table.sh('echo out; echo err >&2; exit 3');
    expect(started).toMatchObject({
      argv: ['sh', '-c', 'echo out; echo err >&2; exit 3'],
      pid: expect.any(Number) as unknown,
      detached: true,
      droppedBytes: 0,
    });
    await table.read(id, whole);
    const ended = await table.find(id);
    expect(ended).toMatchObject({
      id,
      pid: started.pid,
      detached: true,
      exit: { exitCode: 3, signal: null },
      droppedBytes: 0,
    });
    expect(ended?.startedAt.getTime()).toBeGreaterThan(before - 60_000);
    expect(ended?.endedAt?.getTime()).toBeGreaterThanOrEqual(ended?.startedAt.getTime() ?? 0);
  });

  test('can be read again from any place, with the same answer', async (table) => {
    const { id } = await table.sh('printf 0123456789; exit 4');
    const exit = { type: 'exit', exitCode: 4, signal: null };
    for (const offset of [0, 0, 1, 5, 9, 10]) {
      const events = await table.read(id, { offset, follow: true });
      expect([offset, textOf(events)]).toEqual([offset, '0123456789'.slice(offset)]);
      expect(events.at(-1)).toEqual(exit);
      const data = events.filter((event) => event.type !== 'exit');
      expect(data.at(-1)?.offset ?? 10).toBe(10);
    }
    expect(await table.find(id)).toMatchObject({ outputBytes: 10, droppedBytes: 0 });
  });

  test('keeps standard output and standard error apart', async (table) => {
    const { id } = await table.sh('echo out; echo err >&2');
    const events = await table.read(id, whole);
    expect(textOf(events.filter(({ type }) => type === 'stdout'))).toBe('out\n');
    expect(textOf(events.filter(({ type }) => type === 'stderr'))).toBe('err\n');
  });

  test('without following, reads what is there and ends', async (table) => {
    const { id } = await table.sh('echo first; exec sleep 1000');
    await table.hear(id, 'first\n');
    const now = await table.read(id, { offset: 0, follow: false });
    expect(textOf(now)).toBe('first\n');
    expect(now.map(({ type }) => type)).not.toContain('exit');
    await table.signal(id, 'SIGKILL');
    await table.read(id, whole);
    const later = await table.read(id, { offset: 0, follow: false });
    expect(later.at(-1)).toEqual({ type: 'exit', exitCode: 137, signal: 'SIGKILL' });
  });

  test('follows until it ends; a signal reaches its whole group', async (table) => {
    const { id } = await table.sh('sleep 1000 & trap "echo caught; exit 7" TERM; echo ready; wait');
    const reading = table.read(id, whole);
    await table.hear(id, 'ready\n');
    await table.signal(id, 'SIGTERM');
    const events = await reading;
    expect(textOf(events)).toBe('ready\ncaught\n');
    expect(events.at(-1)).toEqual({ type: 'exit', exitCode: 7, signal: null });
    // Its children may take a moment longer.
    await eventually(() => expect(table.signal(id, 'SIGTERM')).rejects.toMatchObject(unknown));
  });

  test('5 MB that nobody read are there for whoever reads later, also two at once', async (table) => {
    const size = 5_000_000;
    const { id } = await table.sh(`seq 1 1000000 | head -c ${String(size)}; touch filled`);
    await table.hear(id, undefined);
    const numbers = Array.from({ length: 1_000_000 }, (_, index) => String(index + 1));
    const expected = numbers.join('\n').slice(0, size);
    for (const events of await Promise.all([table.read(id, whole), table.read(id, whole)])) {
      expect(textOf(events) === expected).toBe(true);
    }
    expect(await table.find(id)).toMatchObject({ outputBytes: size, droppedBytes: 0 });
  });

  test('one reader that leaves does not disturb another', async (table) => {
    const { id } = await table.sh('echo one; while [ ! -e left ]; do sleep 0.1; done; echo two');
    const reading = table.read(id, whole);
    await table.hear(id, 'one\n');
    const leaving = new AbortController();
    const abandoned = await table.attach(id, whole, leaving.signal);
    const ended = (async () => {
      for await (const event of abandoned) if (event.type === 'stdout') leaving.abort();
    })();
    await expect(ended).rejects.toThrow();
    await bench.shared().write('left', Buffer.from(''));
    expect(textOf(await reading)).toBe('one\ntwo\n');
  });

  test('lists an attached command by its id, and reads it again', async (table) => {
    const id = randomUUID();
    const sandbox = bench.shared();
    const talk = new Conversation(await sandbox.start(['cat'], { stdin: true, id }));
    await talk.say('hello\n');
    await talk.hear('hello\n');
    expect(await table.find(id)).toMatchObject({ argv: ['cat'], detached: false, exit: null });
    await talk.process.closeStdin();
    expect(await talk.end()).toMatchObject({ exitCode: 0 });
    expect(textOf(await table.read(id, whole))).toBe('hello\n');
    expect(await table.find(id)).toMatchObject({ exit: { exitCode: 0, signal: null } });
  });

  test('lists the oldest first, and nothing without an id', async (table) => {
    const [first, second] = [await table.sh('exit 0'), await table.sh('exit 0')];
    const listed = await table.list();
    const places = [first, second].map(({ id }) => listed.findIndex((one) => one.id === id));
    expect(places[0]).toBeGreaterThanOrEqual(0);
    expect(places[1]).toBeGreaterThan(places[0] ?? 0);
    await bench.shared().sh('true');
    expect((await table.list()).length).toBe(listed.length);
  });

  test('refuses an id that is taken, and what cannot be started', async (table) => {
    const { id } = await table.sh('exit 0');
    await expect(table.start(['true'], id)).rejects.toMatchObject({
      code: 'invalid_value',
    });
    const refused = randomUUID();
    await expect(table.start(['no-such-program'], refused)).rejects.toMatchObject({
      code: 'invalid_value',
    });
    await expect(table.read(refused, whole)).rejects.toMatchObject(unknown);
  });

  test('knows nothing of an id that was never given', async (table) => {
    const id = randomUUID();
    await expect(table.read(id, whole)).rejects.toMatchObject(unknown);
    await expect(table.signal(id, 'SIGTERM')).rejects.toMatchObject(unknown);
  });

  test('readers hear how it ended when the sandbox is stopped', async (table) => {
    await using sandbox = await bench.create();
    const own = new Table(table.processes, bench, sandbox.spec);
    const { id } = await own.sh('sleep 1000 & trap "echo bye; exit 0" TERM; echo ready; wait');
    const reading = own.read(id, whole);
    await own.hear(id, 'ready\n');
    await bench.provider().stop(sandbox.spec, soon());
    const events = await reading;
    expect(textOf(events)).toBe('ready\nbye\n');
    expect(events.at(-1)).toEqual({ type: 'exit', exitCode: 0, signal: null });
    await bench.provider().resume(sandbox.spec, sandbox.spec, soon());
    expect(await own.list()).toEqual([]);
  });
}
