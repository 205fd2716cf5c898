import { expect } from 'vitest';
import type { TestContext } from 'vitest';
import type { CreatedSandbox, SandboxSpec } from '../../src/domain/provider.ts';
import type { Bench } from './provider.ts';
import { type TestSandbox, soon } from './sandbox.ts';

/** Directories besides /workspace that are kept, and files that outlive their sandbox. */
export function volumeTests(bench: Bench): void {
  const withVolumes = (...volumes: string[]): Promise<TestSandbox> => bench.create({}, { volumes });
  const test = (name: string, run: (context: TestContext) => Promise<void>): void => {
    bench.test(name, async (context) => {
      if (!bench.subject().hasVolumes) return context.skip('accepts volumes and has none');
      await run(context);
    });
  };
  const resume = ({ spec }: { spec: SandboxSpec }): Promise<CreatedSandbox> =>
    bench.provider().resume(spec, spec, soon());
  const write = async (sandbox: TestSandbox, ...paths: string[]): Promise<void> => {
    const script = 'for path; do echo "in $path" > "$path"; done';
    expect(await sandbox.sh(script, ...paths)).toMatchObject({ exitCode: 0 });
  };
  const read = async (sandbox: TestSandbox, ...paths: string[]): Promise<string> =>
    (await sandbox.sh('cat "$@" 2>&1', ...paths)).stdout.toString();

  test('can be written to, and are kept when it stops and when it is built anew', async () => {
    await using sandbox = await withVolumes('/data', '/var/lib/some where');
    const paths = ['/data/a', '/var/lib/some where/b', '/workspace/c'];
    await write(sandbox, ...paths);
    const kept = paths.map((path) => `in ${path}\n`).join('');
    await bench.provider().stop(sandbox.spec, soon());
    await resume(sandbox);
    expect(await read(sandbox, ...paths)).toBe(kept);
    await bench.subject().loseAllButFiles?.(sandbox.spec);
    await resume(sandbox);
    expect(await read(sandbox, ...paths)).toBe(kept);
  });

  test('begin with what the image has there', async () => {
    await using sandbox = await withVolumes('/etc/apt');
    const { stdout } = await sandbox.sh('ls /etc/apt; touch /etc/apt/own');
    expect(stdout.toString()).toContain('sources.list');
    await bench.subject().loseAllButFiles?.(sandbox.spec);
    await resume(sandbox);
    expect((await sandbox.sh('ls /etc/apt')).stdout.toString()).toContain('own\n');
  });

  test('are parts of the sandbox, and go with it', async () => {
    const sandbox = await withVolumes('/data', '/more');
    const listed = async (): Promise<readonly string[] | undefined> => {
      const found = await bench.provider().list?.(soon());
      return found?.find(({ workspaceId }) => workspaceId === sandbox.spec.workspaceId)?.parts;
    };
    const own = bench.subject().parts(sandbox.spec);
    const parts = (await listed()) ?? [];
    expect(parts).toEqual(expect.arrayContaining([...own]));
    expect(parts).toHaveLength(own.length + 2);
    await sandbox.destroy();
    expect(await listed()).toBeUndefined();
  });

  test('a create that replaces another begins with empty ones', async () => {
    await using sandbox = await withVolumes('/data');
    await write(sandbox, '/data/a');
    await bench.provider().create(sandbox.spec, soon());
    expect((await sandbox.sh('ls -A /data')).stdout.toString()).toBe('');
  });

  bench.test('destroy keeps the files when asked, for a resume', async (context) => {
    const provider = bench.provider();
    const { features } = await provider.capabilities();
    if (!features.persistence) return context.skip('declares no persistence');
    await using sandbox = await bench.create();
    await sandbox.write('kept', Buffer.from('before'));
    await provider.destroy(sandbox.spec, soon(), { keepFiles: true });
    await provider.destroy(sandbox.spec, soon(), { keepFiles: true });
    await expect(sandbox.start(['true'])).rejects.toMatchObject({ code: 'sandbox_unreachable' });
    const found = await provider.list?.(soon());
    const own = found?.find(({ sandboxName }) => sandboxName === sandbox.spec.sandboxName);
    expect(own).toMatchObject({ state: 'stopped', hasFiles: true });
    await resume(sandbox);
    expect((await sandbox.read('kept')).toString()).toBe('before');
    await sandbox.destroy();
    await expect(resume(sandbox)).rejects.toMatchObject({ code: 'files_lost' });
  });

  test('volumes are kept with the files', async () => {
    await using sandbox = await withVolumes('/data');
    await write(sandbox, '/data/a');
    await bench.provider().destroy(sandbox.spec, soon(), { keepFiles: true });
    await resume(sandbox);
    expect(await read(sandbox, '/data/a')).toBe('in /data/a\n');
  });
}
