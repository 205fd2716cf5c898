import { expect } from 'vitest';
import type { TestContext } from 'vitest';
import { goodbye, properGoodbye, saysGoodbye } from './goodbye.ts';
import type { Bench } from './provider.ts';
import { Conversation, TestSandbox, newSpec, soon } from './sandbox.ts';

const unreachable = { code: 'sandbox_unreachable' };
const lost = { code: 'files_lost' };

export function stopResumeTests(bench: Bench): void {
  const test = (name: string, run: (context: TestContext) => Promise<void>): void => {
    bench.test(name, async (context) => {
      const { features } = await bench.provider().capabilities();
      if (!features.persistence) context.skip('declares no persistence');
      await run(context);
    });
  };
  const stop = (sandbox: TestSandbox): Promise<void> => bench.provider().stop(sandbox.spec, soon());
  const resume = (sandbox: TestSandbox): Promise<unknown> =>
    bench.provider().resume(sandbox.spec, sandbox.spec, soon());

  test('stop keeps the files; resume brings them back, again and again', async () => {
    await using sandbox = await bench.create({ FROM_SPEC: 'spec' });
    await sandbox.write('/workspace/dir/kept', Buffer.from('before'));
    for (const round of ['first', 'second']) {
      await stop(sandbox);
      await expect(sandbox.start(['true'])).rejects.toMatchObject(unreachable);
      await expect(sandbox.read('dir/kept')).rejects.toMatchObject(unreachable);
      await resume(sandbox);
      expect((await sandbox.read('dir/kept')).toString()).toBe('before');
      await sandbox.sh('echo "$1" >> rounds', round);
    }
    const seen = await sandbox.sh('cat rounds; echo "$FROM_SPEC"');
    expect(seen.stdout.toString()).toBe('first\nsecond\nspec\n');
  });

  test('stop lets commands end by themselves, and tells their readers', async () => {
    await using sandbox = await bench.create();
    const talk = new Conversation(await sandbox.start(saysGoodbye));
    await talk.hear('ready');
    await stop(sandbox);
    expect(await goodbye(talk)).toEqual(properGoodbye);
  });

  test('stopping what is stopped, and what is gone, succeeds', async () => {
    await using sandbox = await bench.create();
    await stop(sandbox);
    await stop(sandbox);
    await sandbox.destroy();
    await stop(sandbox);
    await stop(new TestSandbox(bench.provider(), newSpec(bench.image())));
  });

  test('resuming what runs leaves it as it is', async () => {
    await using sandbox = await bench.create();
    const talk = new Conversation(await sandbox.start(['cat'], { stdin: true }));
    await resume(sandbox);
    await talk.say('still here\n');
    await talk.hear('still here\n');
    await talk.process.closeStdin();
    expect(await talk.end()).toMatchObject({ exitCode: 0 });
  });

  test('resuming says what it granted, as create does', async () => {
    await using sandbox = await bench.create();
    await stop(sandbox);
    const { isolation } = await bench.provider().capabilities();
    expect(await resume(sandbox)).toMatchObject({
      limits: sandbox.spec.limits,
      metadata: { isolation },
    });
  });

  test('a stopped sandbox can be destroyed', async () => {
    await using sandbox = await bench.create();
    await stop(sandbox);
    await sandbox.destroy();
    await expect(sandbox.start(['true'])).rejects.toMatchObject(unreachable);
    await expect(resume(sandbox)).rejects.toMatchObject(lost);
  });

  test('without files it is not resumed, and nothing is made', async () => {
    await using sandbox = await bench.create();
    await stop(sandbox);
    await bench.subject().loseFiles(sandbox.spec);
    await expect(resume(sandbox)).rejects.toMatchObject(lost);
    await expect(resume(sandbox)).rejects.toMatchObject(lost);
    const never = new TestSandbox(bench.provider(), newSpec(bench.image()));
    await expect(resume(never)).rejects.toMatchObject(lost);
    const left = await bench.provider().list?.(soon());
    expect(left?.filter(({ hasFiles }) => hasFiles).map(({ sandboxName }) => sandboxName)).toEqual([
      bench.shared().spec.sandboxName,
    ]);
  });

  test('where only the files are left, resume builds the rest anew', async (context) => {
    const { loseAllButFiles } = bench.subject();
    if (!loseAllButFiles) return context.skip('its sandboxes are nothing but files');
    await using sandbox = await bench.create({ FROM_SPEC: 'spec' });
    await sandbox.write('/workspace/kept', Buffer.from('before'));
    await loseAllButFiles(sandbox.spec);
    await stop(sandbox);
    await resume(sandbox);
    const seen = await sandbox.sh('cat kept; echo " $FROM_SPEC"');
    expect(seen.stdout.toString()).toBe('before spec\n');
  });

  test('what runs outlives the provider object, with its output', async (context) => {
    const { restarted } = bench.subject();
    if (!restarted) return context.skip('its sandboxes end with it');
    await using sandbox = await bench.create();
    await using earlier = restarted();
    const script = 'echo before; while [ ! -e go ]; do sleep 0.1; done; echo after; exit 5';
    const id = 'a1b2c3d4-0000-4000-8000-000000000000';
    await earlier.exec(sandbox.spec, { argv: ['sh', '-c', script], id }, soon());
    await earlier[Symbol.asyncDispose]();

    await using later = restarted();
    const { processes } = later;
    expect(await processes?.list(sandbox.spec, soon())).toMatchObject([{ id, exit: null }]);
    await sandbox.write('go', Buffer.from(''));
    const events = await processes?.attach(sandbox.spec, id, { offset: 0, follow: true }, soon());
    const read = await Array.fromAsync(events ?? []);
    const text = read.map((event) => ('data' in event ? Buffer.from(event.data).toString() : ''));
    expect(text.join('')).toBe('before\nafter\n');
    expect(read.at(-1)).toEqual({ type: 'exit', exitCode: 5, signal: null });
  });
}
