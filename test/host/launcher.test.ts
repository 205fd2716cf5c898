import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Launcher } from '../../src/host/launcher.ts';

const soonMs = { timeoutMs: 20_000 };

describe('programs that are run from a process of their own', () => {
  let launcher: Launcher;
  beforeEach(() => {
    launcher = new Launcher();
  });
  afterEach(() => {
    launcher[Symbol.dispose]();
  });

  /** The process that starts them. */
  const parent = async (): Promise<number> => {
    const { stdout } = await launcher.run(['sh', '-c', 'echo $PPID'], soonMs);
    return Number(stdout);
  };

  test('get their input and environment, and answer with what they said', async () => {
    const argv = ['sh', '-c', 'cat; echo $WORD >&2; exit 3'];
    const options = { ...soonMs, input: 'in', env: { WORD: 'err' } };
    expect(await launcher.run(argv, options)).toMatchObject({
      ...{ ok: false, exitCode: 3, stdout: 'in', stderr: 'err\n' },
      failure: 'sh -c ended with code 3: err',
    });
  });

  test('are not children of this process, and side by side', async () => {
    const pids = await Promise.all([parent(), parent(), parent()]);
    expect(new Set(pids).size).toBe(1);
    expect(pids[0]).not.toBe(process.pid);
  });

  test('that are not there are a result', async () => {
    const result = await launcher.run(['no-such-program-anywhere'], soonMs);
    expect(result).toMatchObject({ ok: false, notFound: true });
  });

  test('end by their deadline, and by the signal of whoever waits', async () => {
    const late = await launcher.run(['sleep', '1000'], { timeoutMs: 50 });
    expect(late).toMatchObject({ ok: false, timedOut: true });
    const leaving = new AbortController();
    const running = launcher.run(['sleep', '1000'], { ...soonMs, signal: leaving.signal });
    leaving.abort(new Error('left'));
    await expect(running).rejects.toThrow('left');
  });

  test('fail with their process, and the next one gets another', async () => {
    const first = await parent();
    const running = launcher.run(['sleep', '1000'], soonMs);
    process.kill(first, 'SIGKILL');
    expect(await running).toMatchObject({
      ok: false,
      failure: expect.stringContaining('was lost: it ended with SIGKILL') as unknown,
    });
    expect(await parent()).not.toBe(first);
  });

  test('come from a process that ends with the server', async () => {
    const pid = await parent();
    const gone = async (): Promise<boolean> =>
      (await readFile(join('/proc', String(pid), 'stat'), 'utf8').catch(() => 'gone')) === 'gone';
    expect(await gone()).toBe(false);
    launcher[Symbol.dispose]();
    await expect.poll(gone, { timeout: 20_000 }).toBe(true);
  });
});
