import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import { runCommand } from '../../../src/engine/tools/command.ts';
import { glob } from '../../../src/engine/tools/glob.ts';
import { FakeProcess } from './support/fake-process.ts';
import { FakeProvider } from './support/fake-provider.ts';
import { never } from './support/workspaces.ts';

const ref = { workspaceId: 'w', sandboxName: 's' };

function running(): { provider: FakeProvider; process: FakeProcess } {
  const provider = new FakeProvider();
  const process = new FakeProcess();
  provider.exec.mockResolvedValue(process);
  return { provider, process };
}

const command = {
  what: 'git status',
  argv: ['git'],
  deadlineMs: 1000,
  maxStdoutBytes: 5,
  maxStderrBytes: 100,
} as const;

describe('a command of a tool', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('keeps the beginning of its output and reads the rest', async () => {
    const { provider, process } = running();
    for (const piece of ['abc', 'def', 'ghi']) process.print(piece);
    process.print('said', 'stderr');
    process.exit(3);
    const result = await runCommand({ provider, ref }, command, never());
    expect(result).toEqual({
      exitCode: 3,
      stdout: Buffer.from('abcde'),
      stdoutCut: true,
      stderr: 'said',
    });
  });

  test('an output that just fits is not cut', async () => {
    const { provider, process } = running();
    process.print('abcde');
    process.exit(0);
    const result = await runCommand({ provider, ref }, command, never());
    expect(result).toMatchObject({ stdoutCut: false, exitCode: 0 });
  });

  test('is ended at its deadline, with time to clean up', async () => {
    const { provider, process } = running();
    const run = runCommand({ provider, ref }, command, never());
    const late = expect(run).rejects.toThrow('git status did not finish within 1000 ms');
    await vi.advanceTimersByTimeAsync(1000);
    await late;
    expect(process.ends).toEqual([5_000]);
  });

  test('is ended when its caller leaves, whose reason is told although the sandbox is gone', async () => {
    const { provider, process } = running();
    process.onEnd = () => {
      throw new EmergentError('sandbox_unreachable', 'no link');
    };
    const leaving = new AbortController();
    const run = runCommand({ provider, ref }, command, leaving.signal);
    const left = expect(run).rejects.toThrow('gone');
    await vi.advanceTimersByTimeAsync(1);
    leaving.abort(new EmergentError('client_closed', 'gone'));
    await left;
    expect(process.ends).toEqual([5_000]);
  });
});

describe('what a sandbox answers in the place of a result', () => {
  const request = { pattern: '*', path: '/workspace', limit: 10, gitDir: false };

  async function answered(exitCode: number, ...lines: string[]): Promise<unknown> {
    const { provider, process } = running();
    vi.spyOn(process, 'writeStdin').mockResolvedValue();
    vi.spyOn(process, 'closeStdin').mockResolvedValue();
    process.print(lines.map((line) => `${line}\n`).join(''));
    process.exit(exitCode);
    const withProgram = Object.assign(provider, { toolProgram: ['/agent', 'tool'] as const });
    return glob({ provider: withProgram, ref }, request, never());
  }

  test.each([
    [0],
    [0, 'null'],
    [0, '{'],
    [0, '{"done":true}'],
    [0, '{"path":7}', '{"done":true,"total":1,"unreadable":0}'],
    [
      0,
      '{"path":"a","kind":"file","size":1,"modified_ms":1e20}',
      '{"done":true,"total":1,"unreadable":0}',
    ],
    [1, '{"error":{"code":"internal","message":"no"}}'],
    [2, '{"error":{"code":"shutting_down","message":"no"}}'],
    [137],
  ] as [number, ...string[]][])('exit %i: %s', async (...answer) => {
    await expect(answered(...answer)).rejects.toMatchObject({ code: 'provider_failed' });
  });

  test('a refusal is passed on', async () => {
    const line = '{"error":{"code":"file_not_found","message":"no such"}}';
    await expect(answered(2, line)).rejects.toMatchObject({
      code: 'file_not_found',
      message: '/workspace: no such',
    });
  });
});
