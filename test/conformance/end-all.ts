import { expect } from 'vitest';
import type { TestContext } from 'vitest';
import { goodbye, properGoodbye, saysGoodbye } from './goodbye.ts';
import type { Bench } from './provider.ts';
import { Conversation, type TestSandbox } from './sandbox.ts';
import { Table, textOf, whole } from './table.ts';

/** Everything in a sandbox ends, and the sandbox goes on. */
export function endAllTests(bench: Bench): void {
  const test = (
    name: string,
    run: (table: Table, sandbox: TestSandbox, context: TestContext) => Promise<void>,
  ): void => {
    bench.test(name, async (context) => {
      const { processes } = bench.provider();
      if (!processes) return context.skip('declares no processes');
      await using sandbox = await bench.create();
      await run(new Table(processes, bench, sandbox.spec), sandbox, context);
    });
  };

  test('each is asked to end, its readers hear how, and it is remembered', async (table, sandbox) => {
    const { id } = await table.start(saysGoodbye);
    const reading = table.read(id, whole);
    await table.hear(id, 'ready\n');
    const talk = new Conversation(await sandbox.start(saysGoodbye));
    await talk.hear('ready\n');
    await table.endAll(30_000);
    expect(textOf(await reading)).toBe('ready\nlast words\n');
    expect(await table.find(id)).toMatchObject({ exit: { exitCode: 0, signal: null } });
    expect(await goodbye(talk)).toEqual(properGoodbye);
    expect(textOf(await table.read(id, whole))).toBe('ready\nlast words\n');
  });

  test('the sandbox takes commands again at once, also of the same kind', async (table) => {
    const first = await table.talk(['cat']);
    await table.endAll(30_000);
    const second = await table.talk(['cat']);
    await table.say(second.id, 'hello\n');
    await table.hear(second.id, 'hello\n');
    expect(await table.list()).toMatchObject([
      { id: first.id, exit: { exitCode: 143, signal: 'SIGTERM' } },
      { id: second.id, exit: null },
    ]);
    await table.endAll(30_000);
    await table.endAll(30_000);
    expect(await table.find(second.id)).toMatchObject({ exit: { exitCode: 143 } });
  });

  test('who takes no notice is killed, with the children that it left', async (table, sandbox) => {
    const script = 'trap "" TERM; (sleep 1000 & echo left) ; while :; do sleep 0.05; done';
    const { id } = await table.sh(script);
    await table.hear(id, 'left\n');
    await table.endAll(50);
    expect(await table.find(id)).toMatchObject({ exit: { exitCode: 137, signal: 'SIGKILL' } });
    expect((await sandbox.sh('echo works')).stdout.toString()).toBe('works\n');
  });

  test('nothing to end is fine', async (table, sandbox) => {
    await table.endAll(30_000);
    expect((await sandbox.sh('echo works')).stdout.toString()).toBe('works\n');
  });
}
