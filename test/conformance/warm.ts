import { expect } from 'vitest';
import type { TestContext } from 'vitest';
import type { SandboxSpec, WarmSandboxes } from '../../src/domain/provider.ts';
import type { Bench } from './provider.ts';
import { TestSandbox, newSpec, soon } from './sandbox.ts';

const unreachable = { code: 'sandbox_unreachable' };
const showEnv = 'echo "${FIRST-none} ${SECOND-none}"';

/** Sandboxes that wait, without an environment, until they become somebody's. */
export function warmTests(bench: Bench): void {
  const test = (
    name: string,
    run: (warm: WarmSandboxes, context: TestContext) => Promise<void>,
  ): void => {
    bench.test(name, async (context) => {
      const { warm } = bench.provider();
      if (!warm) return context.skip('declares no warm pool');
      await run(warm, context);
    });
  };
  const needPersistence = async (context: TestContext): Promise<void> => {
    const { features } = await bench.provider().capabilities();
    if (!features.persistence) context.skip('declares no persistence');
  };
  const resting = async (warm: WarmSandboxes): Promise<TestSandbox> => {
    const sandbox = await bench.create();
    await warm.rest(sandbox.spec, soon());
    return sandbox;
  };
  const withEnv = ({ spec }: TestSandbox, env: SandboxSpec['env']): SandboxSpec => ({
    ...spec,
    env,
  });
  const adopt = (
    warm: WarmSandboxes,
    sandbox: TestSandbox,
    env: SandboxSpec['env'],
  ): Promise<void> => warm.adopt(sandbox.spec, withEnv(sandbox, env), soon());
  const seenEnv = async (sandbox: TestSandbox): Promise<string> =>
    (await sandbox.sh(showEnv)).stdout.toString().trim();

  test('one that waited is adopted: it is empty and has the environment', async (warm) => {
    await using sandbox = await resting(warm);
    await adopt(warm, sandbox, { FIRST: 'a b' });
    expect(await seenEnv(sandbox)).toBe('a b none');
    expect((await sandbox.sh('ls -A')).stdout.toString()).toBe('');
    const own = await sandbox.run(['sh', '-c', showEnv], { env: { FIRST: 'own' } });
    expect(own.stdout.toString()).toBe('own none\n');
  });

  test('adopting again replaces the environment', async (warm) => {
    await using sandbox = await resting(warm);
    await adopt(warm, sandbox, { FIRST: 'one' });
    await adopt(warm, sandbox, { SECOND: 'two' });
    expect(await seenEnv(sandbox)).toBe('none two');
    await adopt(warm, sandbox, {});
    expect(await seenEnv(sandbox)).toBe('none none');
  });

  test('resting twice is fine, and so is using what rests', async (warm) => {
    await using sandbox = await resting(warm);
    await warm.rest(sandbox.spec, soon());
    expect((await sandbox.sh('echo works')).stdout.toString()).toBe('works\n');
    await warm.rest(sandbox.spec, soon());
    await adopt(warm, sandbox, { FIRST: 'one' });
    expect(await seenEnv(sandbox)).toBe('one none');
  });

  test('what is adopted has its environment after stop and resume', async (warm, context) => {
    const provider = bench.provider();
    await needPersistence(context);
    await using sandbox = await resting(warm);
    const spec = withEnv(sandbox, { FIRST: 'one', HOME: '/workspace' });
    await warm.adopt(spec, spec, soon());
    await provider.stop(spec, soon());
    await provider.resume(spec, spec, soon());
    expect((await sandbox.sh('echo "$FIRST $HOME"')).stdout.toString()).toBe('one /workspace\n');
    await provider.resume(spec, spec, soon());
    expect(await seenEnv(sandbox)).toBe('one none');
  });

  test('what is stopped neither rests nor is adopted', async (warm, context) => {
    const provider = bench.provider();
    await needPersistence(context);
    await using sandbox = await resting(warm);
    await provider.stop(sandbox.spec, soon());
    await expect(warm.rest(sandbox.spec, soon())).rejects.toMatchObject(unreachable);
    await expect(adopt(warm, sandbox, {})).rejects.toMatchObject(unreachable);
  });

  test('what is gone or never was neither rests nor is adopted', async (warm) => {
    const gone = await resting(warm);
    await gone.destroy();
    const never = new TestSandbox(bench.provider(), newSpec(bench.image()));
    for (const sandbox of [gone, never]) {
      await expect(warm.rest(sandbox.spec, soon())).rejects.toMatchObject(unreachable);
      await expect(adopt(warm, sandbox, {})).rejects.toMatchObject(unreachable);
    }
  });

  test('a create takes the place of one that could not be adopted', async (warm) => {
    const provider = bench.provider();
    await using sandbox = await resting(warm);
    await sandbox.write('leftover', Buffer.from('x'));
    await provider.stop(sandbox.spec, soon());
    await expect(adopt(warm, sandbox, { FIRST: 'one' })).rejects.toMatchObject(unreachable);
    await provider.create(withEnv(sandbox, { FIRST: 'one' }), soon());
    expect(await seenEnv(sandbox)).toBe('one none');
    await expect(sandbox.read('leftover')).rejects.toMatchObject({ code: 'file_not_found' });
  });

  test('another server adopts it too', async (warm, context) => {
    const { restarted } = bench.subject();
    if (!restarted) return context.skip('its sandboxes end with it');
    await using sandbox = await resting(warm);
    await using other = restarted();
    await other.warm?.rest(sandbox.spec, soon());
    const spec = withEnv(sandbox, { FIRST: 'one' });
    await other.warm?.adopt(spec, spec, soon());
    expect(await seenEnv(sandbox)).toBe('one none');
  });

  test('the fingerprint of an image stays the same, on every server', async (warm) => {
    const image = bench.image();
    const fingerprint = await warm.fingerprint({ image }, soon());
    expect(fingerprint).not.toBe('');
    expect(await warm.fingerprint({ image }, soon())).toBe(fingerprint);
    await using other = bench.subject().restarted?.();
    if (other) expect(await other.warm?.fingerprint({ image }, soon())).toBe(fingerprint);
  });

  test('an aborted signal ends resting and adopting', async (warm) => {
    await using sandbox = await bench.create();
    const aborted = AbortSignal.abort(new Error('the caller went away'));
    await expect(warm.rest(sandbox.spec, aborted)).rejects.toThrow();
    await expect(warm.adopt(sandbox.spec, sandbox.spec, aborted)).rejects.toThrow();
  });
}
