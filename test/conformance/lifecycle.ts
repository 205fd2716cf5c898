import { expect } from 'vitest';
import type { Bench } from './provider.ts';
import { goodbye, properGoodbye, saysGoodbye } from './goodbye.ts';
import { Conversation, TestSandbox, bytesOf, newSpec, soon } from './sandbox.ts';

const unreachable = { code: 'sandbox_unreachable' };

export function lifecycleTests(bench: Bench): void {
  bench.test('a destroyed sandbox answers nothing any more', async () => {
    const sandbox = await bench.create();
    await sandbox.write('/workspace/file', Buffer.from('x'));
    await sandbox.destroy();
    await expect(sandbox.start(['true'])).rejects.toMatchObject(unreachable);
    await expect(sandbox.read('/workspace/file')).rejects.toMatchObject(unreachable);
    const write = sandbox.write('/workspace/file', Buffer.from('x'));
    await expect(write).rejects.toMatchObject(unreachable);
  });

  bench.test('destroying is idempotent, also at once and for what never was', async () => {
    const sandbox = await bench.create();
    await Promise.all([sandbox.destroy(), sandbox.destroy()]);
    await sandbox.destroy();
    await new TestSandbox(bench.provider(), newSpec(bench.image())).destroy();
  });

  bench.test('destroying lets commands end by themselves, and tells their readers', async () => {
    await using sandbox = await bench.create();
    const talk = new Conversation(await sandbox.start(saysGoodbye));
    await talk.hear('ready');
    await sandbox.destroy();
    expect(await goodbye(talk)).toEqual(properGoodbye);
  });

  bench.test('destroying ends a command that refuses to end, and tells its reader', async () => {
    await using sandbox = await bench.create();
    const script = 'trap "" TERM HUP; echo ready; exec sleep 1000';
    const talk = new Conversation(await sandbox.start(['sh', '-c', script]));
    await talk.hear('ready');
    await bench.provider().destroy(sandbox.spec, soon(), { graceMs: 500 });
    expect(await talk.end()).toMatchObject({ exitCode: 137, signal: 'SIGKILL' });
  });

  bench.test('sandboxes do not share files, and one outlives the other', async () => {
    const both = await Promise.all([bench.create(), bench.create()]);
    await using one = both[0];
    await using other = both[1];
    await one.write('/workspace/mine', Buffer.from('one'));
    await expect(other.read('/workspace/mine')).rejects.toMatchObject({ code: 'file_not_found' });
    await other.write('/workspace/mine', Buffer.from('other'));
    expect((await one.read('/workspace/mine')).toString()).toBe('one');
    await one.destroy();
    expect((await other.sh('cat mine')).stdout.toString()).toBe('other');
  });

  bench.test('create replaces what an interrupted create of the same name left', async () => {
    await using sandbox = await bench.create();
    await sandbox.write('/workspace/leftover', Buffer.from('x'));
    await bench.provider().create(sandbox.spec, soon());
    const missing = { code: 'file_not_found' };
    await expect(sandbox.read('/workspace/leftover')).rejects.toMatchObject(missing);
    expect((await sandbox.sh('echo works')).stdout.toString()).toBe('works\n');
  });

  bench.test('an aborted create leaves nothing in the way of the next', async () => {
    const provider = bench.provider();
    await using sandbox = new TestSandbox(provider, newSpec(bench.image()));
    const aborted = AbortSignal.abort(new Error('the caller went away'));
    await expect(provider.create(sandbox.spec, aborted)).rejects.toThrow();
    await provider.create(sandbox.spec, soon());
    expect((await sandbox.sh('echo works')).stdout.toString()).toBe('works\n');
  });

  bench.test('an aborted signal ends every call', async () => {
    const { provider, spec } = bench.shared();
    const aborted = AbortSignal.abort(new Error('the caller went away'));
    const empty = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('x');
    };
    await expect(provider.exec(spec, { argv: ['true'] }, aborted)).rejects.toThrow();
    await expect(provider.readFile(spec, '/workspace', aborted)).rejects.toThrow();
    await expect(provider.writeFile(spec, 'aborted', empty(), aborted)).rejects.toThrow();
    await expect(bench.shared().read('aborted')).rejects.toMatchObject({ code: 'file_not_found' });
  });

  bench.test('aborting a write whose content never comes ends it; the old file stays', async () => {
    const sandbox = bench.shared();
    await sandbox.write('/workspace/stalled/file', Buffer.from('old'));
    const controller = new AbortController();
    const asked = Promise.withResolvers<void>();
    const stalling = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('new');
      asked.resolve();
      await new Promise(() => undefined);
    };
    const writing = sandbox.provider.writeFile(
      sandbox.spec,
      '/workspace/stalled/file',
      stalling(),
      controller.signal,
    );
    const failed = expect(writing).rejects.toThrow();
    await asked.promise;
    controller.abort(new Error('the caller went away'));
    await failed;
    const read = await sandbox.provider.readFile(sandbox.spec, 'stalled/file', soon());
    expect((await bytesOf(read.content)).toString()).toBe('old');
    expect((await sandbox.sh('ls -A stalled')).stdout.toString()).toBe('file\n');
  });
}
