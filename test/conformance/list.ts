import { expect } from 'vitest';
import type { TestContext } from 'vitest';
import type { FoundSandbox, SandboxRef } from '../../src/domain/provider.ts';
import type { Bench } from './provider.ts';
import { soon } from './sandbox.ts';

export function listTests(bench: Bench): void {
  const test = (name: string, run: (context: TestContext) => Promise<void>): void => {
    bench.test(name, async (context) => {
      const { features } = await bench.provider().capabilities();
      if (!features.list) context.skip('declares no list');
      await run(context);
    });
  };
  const found = async ({ sandboxName }: SandboxRef): Promise<readonly FoundSandbox[]> => {
    const all = (await bench.provider().list?.(soon())) ?? [];
    return all.filter((one) => one.sandboxName === sandboxName);
  };

  test('lists a sandbox in every state, with its parts', async () => {
    const provider = bench.provider();
    const before = Date.now();
    await using sandbox = await bench.create();
    const { workspaceId, sandboxName } = sandbox.spec;
    const whole = {
      workspaceId,
      sandboxName,
      hasFiles: true,
      createdAt: expect.any(Date) as unknown,
      parts: bench.subject().parts(sandbox.spec),
    };
    const running = { ...whole, state: 'running' };
    const [first] = await found(sandbox.spec);
    expect(first).toEqual(running);
    // Engines keep whole seconds.
    expect(first?.createdAt.getTime()).toBeGreaterThan(before - 2_000);
    expect(first?.createdAt.getTime()).toBeLessThan(Date.now() + 2_000);

    await provider.stop(sandbox.spec, soon());
    const reason = expect.any(String) as unknown;
    expect(await found(sandbox.spec)).toEqual([{ ...whole, state: 'stopped', reason }]);

    await provider.resume(sandbox.spec, sandbox.spec, soon());
    expect(await found(sandbox.spec)).toEqual([running]);

    await sandbox.destroy();
    expect(await found(sandbox.spec)).toEqual([]);
  });

  test('lists what is left where only the files are', async (context) => {
    const { loseAllButFiles, parts } = bench.subject();
    if (!loseAllButFiles) return context.skip('its sandboxes are nothing but files');
    await using sandbox = await bench.create();
    await loseAllButFiles(sandbox.spec);
    const [left] = await found(sandbox.spec);
    expect(left).toMatchObject({
      workspaceId: sandbox.spec.workspaceId,
      state: 'stopped',
      hasFiles: true,
    });
    expect(parts(sandbox.spec)).toEqual(expect.arrayContaining([...(left?.parts ?? [])]));
    expect(left?.parts).toHaveLength(parts(sandbox.spec).length - 1);
    await sandbox.destroy();
    expect(await found(sandbox.spec)).toEqual([]);
  });

  test('does not list what another has made', async () => {
    const names = (await bench.provider().list?.(soon()))?.map((one) => one.sandboxName);
    expect(names).toEqual([bench.shared().spec.sandboxName]);
  });

  test('fails rather than answer a caller that has gone', async () => {
    const aborted = AbortSignal.abort(new Error('the caller went away'));
    await expect(bench.provider().list?.(aborted)).rejects.toThrow();
  });
}
