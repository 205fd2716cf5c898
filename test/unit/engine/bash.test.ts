import { describe, expect, test } from 'vitest';
import { bashDefaults } from '../../../src/domain/bash.ts';
import type { BashEvent, BashRequest, BashResult } from '../../../src/domain/bash.ts';
import { EmergentError } from '../../../src/domain/errors.ts';
import { startBash } from '../../../src/engine/tools/bash.ts';
import { FakeClock } from '../../support/clock.ts';
import { FakeProcess } from './support/fake-process.ts';
import { FakeProvider } from './support/fake-provider.ts';

const ref = { workspaceId: 'w', sandboxName: 's' };
const processId = 'p';

interface Started {
  readonly clock: FakeClock;
  readonly process: FakeProcess;
  readonly provider: FakeProvider;
  readonly caller: AbortController;
  readonly leaving: AbortController;
  /** Whether the workspace is on its way out. */
  readonly interrupted: { now: boolean };
  readonly events: AsyncIterable<BashEvent>;
}

async function start(request: Partial<BashRequest> = {}): Promise<Started> {
  const clock = new FakeClock();
  const process = new FakeProcess();
  const provider = new FakeProvider();
  provider.exec.mockResolvedValue(process);
  const caller = new AbortController();
  const wanted = { command: 'make', timeoutMs: 60_000, ...request };
  const leaving = new AbortController();
  const interrupted = { now: false };
  const events = await startBash(wanted, {
    workspace: { image: 'base' },
    ...{ provider, ref, processId, clock, signal: caller.signal, leaving: leaving.signal },
    wasInterrupted: async () => interrupted.now,
  });
  return { clock, process, provider, caller, leaving, interrupted, events };
}

async function resultOf(events: AsyncIterable<BashEvent>): Promise<BashResult> {
  const last = (await Array.fromAsync(events)).at(-1);
  if (last?.type !== 'result') throw new Error('no result at the end');
  return last.result;
}

describe('startBash', () => {
  test('runs the command in bash, with workdir and environment only when they are given', async () => {
    const plain = await start({ command: 'echo hi' });
    const argv = ['/bin/bash', '-c', 'echo hi'];
    expect(plain.provider.exec.mock.lastCall?.slice(0, 2)).toEqual([ref, { argv, id: processId }]);
    const placed = await start({ command: 'echo hi', workdir: '/tmp', env: { A: '1' } });
    const request = { argv, id: processId, workdir: '/tmp', env: { A: '1' } };
    expect(placed.provider.exec.mock.lastCall?.slice(0, 2)).toEqual([ref, request]);
  });

  test('streams the output as it comes and ends with one result', async () => {
    const { clock, process, events } = await start();
    process.print('one');
    process.print('warning', 'stderr');
    process.print('two');
    await clock.advance(1500);
    process.exit(3);
    const seen = await Array.fromAsync(events);
    expect(seen.map(({ type }) => type)).toEqual(['start', 'stdout', 'stderr', 'stdout', 'result']);
    expect(seen[0]).toEqual({ type: 'start', pid: 42, processId });
    expect(seen.at(-1)).toEqual({
      type: 'result',
      result: {
        stdout: 'onetwo',
        stderr: 'warning',
        exitCode: 3,
        signal: null,
        timedOut: false,
        interrupted: false,
        background: false,
        truncated: false,
        stdoutBytes: 6,
        stderrBytes: 7,
        durationMs: 1500,
      },
    });
    expect(process.signals).toEqual([]);
  });

  test('keeps head and tail of a long output and says so', async () => {
    const { process, events } = await start();
    process.print('a'.repeat(bashDefaults.keptBytes));
    process.print('z', 'stdout');
    process.exit(0);
    const result = await resultOf(events);
    expect(result).toMatchObject({ truncated: true, stdoutBytes: bashDefaults.keptBytes + 1 });
    expect(result.stdout).toMatch(/^a+\n\[… 1 bytes left out …\]\na+z$/);
  });

  test('an early exit calls the timeout off', async () => {
    const { clock, process, events } = await start();
    process.exit(0);
    expect(await resultOf(events)).toMatchObject({ timedOut: false });
    expect(clock.sleeping).toBe(0);
    await clock.advance(600_000);
    expect(process.signals).toEqual([]);
  });

  test('at the timeout the whole group is ended, with five seconds for it', async () => {
    const { clock, process, events } = await start();
    process.print('half');
    process.onEnd = () => {
      process.exit(143, 'SIGTERM');
    };
    const result = resultOf(events);
    await clock.advance(59_999);
    expect(process.ends).toEqual([]);
    await clock.advance(1);
    expect(await result).toMatchObject({
      ...{ stdout: 'half', exitCode: 143, signal: 'SIGTERM', timedOut: true, durationMs: 60_000 },
    });
    await clock.advance(600_000);
    expect(process.ends).toEqual([bashDefaults.killGraceMs]);
    expect(process.signals).toEqual([]);
  });

  test('the answer waits for children that outlive the command', async () => {
    const { clock, process, events } = await start();
    const ending = Promise.withResolvers<undefined>();
    process.onEnd = () => {
      process.exit(143, 'SIGTERM', true);
      return ending.promise;
    };
    let answered = false;
    const result = resultOf(events).finally(() => {
      answered = true;
    });
    await clock.advance(60_000 + 4_999);
    expect(answered).toBe(false);
    ending.resolve(undefined);
    expect(await result).toMatchObject({ timedOut: true, background: false });
  });

  test('what cannot be ended is killed', async () => {
    const { clock, process, events } = await start();
    process.onEnd = () => {
      throw new EmergentError('deadline_exceeded', 'slow');
    };
    process.onSignal = () => {
      process.exit(137, 'SIGKILL');
    };
    const result = resultOf(events);
    await clock.advance(60_000);
    expect(await result).toMatchObject({ exitCode: 137, timedOut: true });
    expect(process.signals).toEqual(['SIGKILL']);
  });

  test('the timeout counts from the start, also while nobody reads', async () => {
    const { clock, process } = await start();
    await clock.advance(60_000);
    expect(process.ends).toEqual([bashDefaults.killGraceMs]);
  });

  test('a caller that goes away ends the command the same way, which is no timeout', async () => {
    const { process, caller, events } = await start();
    process.onEnd = () => {
      process.exit(137, 'SIGKILL');
    };
    const result = resultOf(events);
    caller.abort(new EmergentError('client_closed', 'gone'));
    expect(await result).toMatchObject({ exitCode: 137, timedOut: false });
    expect(process.ends).toEqual([bashDefaults.killGraceMs]);
  });

  test('children that outlive a command by itself stay, and the answer says so', async () => {
    const { process, events } = await start();
    process.exit(0, null, true);
    expect(await resultOf(events)).toMatchObject({ exitCode: 0, background: true });
    expect([process.ends, process.signals]).toEqual([[], []]);
  });

  test('a reader that stops early leaves no command behind', async () => {
    const { clock, process, events } = await start();
    process.print('first');
    for await (const event of events) if (event.type === 'stdout') break;
    expect(process.signals).toEqual(['SIGKILL']);
    expect(clock.sleeping).toBe(0);
  });

  test('a lost link is reported with its own error, even if the kill fails too', async () => {
    const { clock, process, events } = await start();
    const lost = new EmergentError('sandbox_unreachable', 'the sandbox was lost');
    process.onSignal = () => {
      throw new Error('no link');
    };
    process.print('half');
    process.lose(lost);
    await expect(Array.fromAsync(events)).rejects.toBe(lost);
    expect(process.signals).toEqual(['SIGKILL']);
    expect(clock.sleeping).toBe(0);
  });

  test('a command that ends with its workspace says that it was interrupted', async () => {
    const { process, events, interrupted } = await start();
    interrupted.now = true;
    process.print('half');
    process.exit(143, 'SIGTERM');
    expect(await resultOf(events)).toMatchObject({ stdout: 'half', interrupted: true });
    const byItself = await start();
    byItself.interrupted.now = true;
    byItself.process.exit(0);
    expect(await resultOf(byItself.events)).toMatchObject({ interrupted: false });
  });

  test('when the server leaves, the command stays and its reader is told where', async () => {
    const { clock, process, events, leaving } = await start();
    process.print('half');
    const reading = Array.fromAsync(events);
    const told = expect(reading).rejects.toMatchObject({
      code: 'shutting_down',
      details: { process_id: processId },
    });
    leaving.abort();
    await told;
    expect(process.signals).toEqual([]);
    expect(clock.sleeping).toBe(0);
  });

  test("a command that cannot be started is the provider's error", async () => {
    const provider = new FakeProvider();
    const refused = new EmergentError('file_not_found', 'no such directory');
    provider.exec.mockRejectedValue(refused);
    const request = { command: 'x', timeoutMs: 1 };
    const clock = new FakeClock();
    const { signal } = new AbortController();
    const started = startBash(request, {
      workspace: { image: 'base' },
      ...{ provider, ref, processId, clock, signal, leaving: signal },
      wasInterrupted: async () => false,
    });
    await expect(started).rejects.toBe(refused);
    expect(clock.sleeping).toBe(0);
  });
});
