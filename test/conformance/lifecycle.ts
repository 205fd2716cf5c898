import { expect } from 'vitest';
import { EmergentError } from '../../src/domain/errors.ts';
import type { Bench } from './provider.ts';
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

  bench.test('destroying ends the commands that run', async () => {
    await using sandbox = await bench.create();
    const process = await sandbox.start([
      'sh',
      '-c',
      'trap "" TERM HUP; echo ready; exec sleep 1000',
    ]);
    const talk = new Conversation(process);
    await talk.hear('ready');
    await sandbox.destroy();
    // The reader is told, by a killed command or by a lost sandbox; it never waits for ever.
    const outcome = await talk.end().catch((error: unknown) => error);
    if (outcome instanceof Error) expect(outcome).toBeInstanceOf(EmergentError);
    else expect(outcome).toMatchObject({ exitCode: 137, signal: 'SIGKILL' });
  });

  bench.test('sandboxes do not share files, and one outlives the other', async () => {
    await using one = await bench.create();
    await using other = await bench.create();
    await one.write('/workspace/mine', Buffer.from('one'));
    await expect(other.read('/workspace/mine')).rejects.toMatchObject({ code: 'file_not_found' });
    await other.write('/workspace/mine', Buffer.from('other'));
    expect((await one.read('/workspace/mine')).toString()).toBe('one');
    await one.destroy();
    expect((await other.sh('cat mine')).stdout.toString()).toBe('other');
  });

  bench.test(
    'stop keeps the files and ends the commands; resume brings it back',
    async (context) => {
      const provider = bench.provider();
      const { features } = await provider.capabilities();
      if (!features.persistence) context.skip('declares no persistence');
      await using sandbox = await bench.create();
      await sandbox.write('/workspace/dir/kept', Buffer.from('before'));
      const talk = new Conversation(
        await sandbox.start(['sh', '-c', 'echo ready; exec sleep 1000']),
      );
      await talk.hear('ready');

      await provider.stop(sandbox.spec, soon());
      const outcome = await talk.end().catch((error: unknown) => error);
      if (outcome instanceof Error) expect(outcome).toBeInstanceOf(EmergentError);
      await expect(sandbox.start(['true'])).rejects.toMatchObject(unreachable);

      await provider.resume(sandbox.spec, sandbox.spec, soon());
      expect((await sandbox.read('/workspace/dir/kept')).toString()).toBe('before');
      expect((await sandbox.sh('echo after; cat dir/kept')).stdout.toString()).toBe(
        'after\nbefore',
      );
    },
  );

  bench.test('a stopped sandbox can be destroyed', async (context) => {
    const { features } = await bench.provider().capabilities();
    if (!features.persistence) context.skip('declares no persistence');
    await using sandbox = await bench.create();
    await bench.provider().stop(sandbox.spec, soon());
    await sandbox.destroy();
    await expect(sandbox.start(['true'])).rejects.toMatchObject(unreachable);
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
