import { expect } from 'vitest';
import type { TestContext } from 'vitest';
import type { Bench } from './provider.ts';
import { Table, textOf, whole } from './table.ts';

/** Standard input of processes that nobody stays with. */
export function inputTests(bench: Bench): void {
  const test = (name: string, run: (table: Table, context: TestContext) => Promise<void>): void => {
    bench.test(name, async (context) => {
      const { processes } = bench.provider();
      if (!processes) return context.skip('declares no processes');
      await run(new Table(processes, bench), context);
    });
  };

  test('what is said is answered at once, as often as one likes', async (table) => {
    const { id } = await table.talk(['cat']);
    const heard: string[] = [];
    const reading = (async () => {
      for await (const event of await table.attach(id, whole, AbortSignal.timeout(45_000))) {
        if (event.type !== 'stdout') continue;
        heard.push(Buffer.from(event.data).toString());
        if (heard.length === 20) await table.closeInput(id);
        else await table.say(id, `${String(heard.length)}\n`);
      }
    })();
    await table.say(id, '0\n');
    await reading;
    expect(heard).toEqual(Array.from({ length: 20 }, (_, index) => `${String(index)}\n`));
    expect(await table.find(id)).toMatchObject({ exit: { exitCode: 0, signal: null } });
  });

  test('whoever attaches at the present offset hears only what comes', async (table) => {
    const { id } = await table.talk(['cat']);
    await table.say(id, 'before\n');
    await table.hear(id, 'before\n');
    const offset = (await table.find(id))?.outputBytes ?? 0;
    expect(offset).toBe(7);
    const reading = table.read(id, { offset, follow: true });
    await table.say(id, 'after\n');
    await table.closeInput(id);
    expect(textOf(await reading)).toBe('after\n');
  });

  test('takes several MB for a reader that is slow', async (table) => {
    const { id } = await table.talk([
      ...(['sh', '-c', 'while head -c 1000000 | wc -c; do sleep 0.01; done'] as const),
    ]);
    await table.say(id, Buffer.alloc(5_000_000, 'x'));
    await table.hear(id, '1000000\n');
    await table.signal(id, 'SIGKILL');
  });

  test('one that does not read holds up its writer no longer than that waits', async (table) => {
    const { id } = await table.talk(['sleep', '1000']);
    const waiting = new AbortController();
    const written = table.processes.input(
      bench.shared().spec,
      id,
      Buffer.alloc(2_000_000),
      waiting.signal,
    );
    expect(await table.find(id)).toMatchObject({ exit: null });
    waiting.abort(new Error('waited long enough'));
    await expect(written).rejects.toThrow('waited long enough');
    await table.signal(id, 'SIGKILL');
  });

  test('closing gives end-of-file, once and again, and to who has none or has ended', async (table) => {
    const { id } = await table.talk(['sh', '-c', 'cat; echo over']);
    await table.say(id, 'last\n');
    await table.closeInput(id);
    expect(textOf(await table.read(id, whole))).toBe('last\nover\n');
    await table.closeInput(id);
    const { id: without } = await table.sh('exec sleep 1000');
    await table.closeInput(without);
    await table.signal(without, 'SIGKILL');
    await expect(table.closeInput('never-given')).rejects.toMatchObject({
      code: 'process_not_found',
    });
  });

  test('starts in its directory, with its environment', async (table) => {
    await bench.shared().sh('mkdir -p deep/inside');
    const script = 'basename "$(pwd)"; echo "$OWN"';
    const { id } = await table.start(['sh', '-c', script], undefined, {
      workdir: '/workspace/deep/inside',
      env: { OWN: 'of its own' },
      stdin: true,
    });
    expect(textOf(await table.read(id, whole))).toBe('inside\nof its own\n');
  });
}
