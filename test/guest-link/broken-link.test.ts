import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { ExecProcess } from '../../src/domain/exec.ts';
import type { Dial } from '../../src/providers/guest/dial.ts';
import { GuestSandbox } from '../../src/providers/guest/sandbox.ts';
import { collect, Conversation, soon } from '../conformance/sandbox.ts';
import { FakeClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { TestAgent } from './support/agent.ts';

let agent: TestAgent;
let sandboxes: GuestSandbox[];
beforeEach(async () => {
  agent = await TestAgent.start();
  sandboxes = [];
});
afterEach(async () => {
  vi.useRealTimers();
  for (const sandbox of sandboxes) sandbox.close();
  await agent[Symbol.asyncDispose]();
});

function newSandbox(clock: Clock = systemClock, dial: Dial = agent.dial): GuestSandbox {
  const sandbox = new GuestSandbox({ dial, token: agent.token, clock });
  sandboxes.push(sandbox);
  return sandbox;
}

function startCat(sandbox: GuestSandbox): Promise<ExecProcess> {
  return sandbox.exec({ argv: ['cat'], stdin: true }, soon());
}

describe('a bridge that breaks', () => {
  test('in the middle of output: it goes on through another, without a gap or a repeat', async () => {
    const sandbox = newSandbox();
    const [rounds, perRound] = [6, 512 * 1024];
    const copy = join(agent.workdir, 'copy');
    const script = 'while read -r _; do head -c "$1" /dev/urandom | tee -a "$2"; done';
    const argv: [string, ...string[]] = ['sh', '-c', script, 'sh', String(perRound), copy];
    const process = await sandbox.exec({ argv, stdin: true }, soon());
    const events = process.events[Symbol.asyncIterator]();
    const seen = createHash('sha256');
    let bytes = 0;
    for (let round = 1; round <= rounds; round++) {
      await process.writeStdin(Buffer.from('\n'));
      const { bridge } = agent;
      // The first piece of the round is here and most of it is still to come: now the bridge dies.
      for (let broken = false; bytes < round * perRound; broken = true) {
        const event = await events.next();
        if (event.done === true || event.value.type !== 'stdout') throw new Error('no output');
        seen.update(event.value.data);
        bytes += event.value.data.length;
        if (!broken) bridge.kill();
      }
      await bridge.closed;
    }
    await process.closeStdin();
    expect(await events.next()).toMatchObject({ value: { type: 'exit', exitCode: 0 } });
    const whole = createHash('sha256').update(await readFile(copy));
    expect(bytes).toBe(rounds * perRound);
    expect(seen.digest('hex')).toBe(whole.digest('hex'));
    expect(agent.bridges.length).toBeGreaterThan(rounds);
  });

  test('while a command is silent: its end is still heard', async () => {
    const sandbox = newSandbox();
    const process = await startCat(sandbox);
    const output = collect(process.events);
    agent.bridge.kill();
    await agent.bridge.closed;
    await process.closeStdin();
    expect(await output).toMatchObject({ exitCode: 0 });
    expect(agent.bridges).toHaveLength(2);
  });

  test('while nothing runs: the next request does not notice', async () => {
    const sandbox = newSandbox();
    await sandbox.ready(soon());
    agent.bridge.kill();
    await agent.bridge.closed;
    const { stdout } = await collect((await sandbox.exec({ argv: ['echo', 'x'] }, soon())).events);
    expect(stdout.toString()).toBe('x\n');
    expect(agent.bridges).toHaveLength(2);
  });

  test('a bridge that hangs is found out by the heartbeat and replaced', async () => {
    const clock = new FakeClock();
    const sandbox = newSandbox(clock);
    const process = await startCat(sandbox);
    const conversation = new Conversation(process);
    await conversation.say('before\n');
    expect(await conversation.line()).toBe('before');
    const next = conversation.line();

    agent.bridge.hang();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await clock.whenSleeping();
    await clock.advance(10_000);
    await vi.advanceTimersByTimeAsync(10_000);
    vi.useRealTimers();
    // The first attempt to pick up the output again comes without a pause.
    await clock.whenSleeping();
    await clock.advance(0);

    await conversation.say('after\n');
    expect(await next).toBe('after');
    expect(agent.bridges).toHaveLength(2);
    await process.closeStdin();
    expect(await conversation.end()).toMatchObject({ exitCode: 0 });
  });

  test('a link that is idle sends no heartbeats', async () => {
    const clock = new FakeClock();
    const sandbox = newSandbox(clock);
    const process = await startCat(sandbox);
    await clock.whenSleeping();
    await process.closeStdin();
    await collect(process.events);
    await eventually(() => {
      expect(clock.sleeping).toBe(0);
    });
  });
});

test('when the agent is gone, the reader is told after some attempts', async () => {
  const pauses: number[] = [];
  const clock = new FakeClock();
  const counting: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => {
      pauses.push(ms);
      return clock.sleep(ms, signal);
    },
  };
  const sandbox = newSandbox(counting);
  const process = await startCat(sandbox);
  const outcome = collect(process.events).catch((error: unknown) => error);
  const told = vi.fn();
  void outcome.then(told);
  pauses.length = 0;
  await agent.kill();
  while (told.mock.calls.length === 0) await clock.advance(1_000);
  expect(await outcome).toMatchObject({
    code: 'sandbox_unreachable',
    message: 'the sandbox was lost while the command ran: the agent does not run',
  });
  const heartbeats = 10_000;
  const attempts = pauses.filter((ms) => ms !== heartbeats);
  expect(attempts).toEqual([0, 200, 500, 1_000, 2_000, 4_000]);
});

describe('a dial', () => {
  test('that never answers ends by its deadline; the next request dials again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const late = Promise.withResolvers<Duplex>();
    const dial = vi.fn<Dial>(() => late.promise);
    const sandbox = newSandbox(systemClock, dial);
    const failed = expect(sandbox.ready(soon())).rejects.toMatchObject({
      code: 'sandbox_unreachable',
      message: expect.stringContaining('did not finish within 15000 ms') as unknown,
    });
    await vi.advanceTimersByTimeAsync(15_000);
    await failed;
    expect(dial.mock.calls[0]?.[0].aborted).toBe(true);

    const stream = new PassThrough();
    late.resolve(stream);
    await once(stream, 'close');
    vi.useRealTimers();
    dial.mockImplementation(agent.dial);
    await sandbox.ready(soon());
    expect(dial).toHaveBeenCalledTimes(2);
  });

  test('that reaches something silent ends by its deadline too, and is hung up', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const silent = new PassThrough();
    silent.read = () => null;
    const sandbox = newSandbox(systemClock, async () => silent);
    const failed = expect(sandbox.ready(soon())).rejects.toMatchObject({
      code: 'sandbox_unreachable',
    });
    await vi.advanceTimersByTimeAsync(15_000);
    await failed;
    await eventually(() => {
      expect(silent.destroyed).toBe(true);
    });
  });

  test('that fails says why, once for all who wait', async () => {
    const dial = vi.fn<Dial>(() => Promise.reject(new Error('no such container')));
    const sandbox = newSandbox(systemClock, dial);
    const asked = [1, 2, 3].map(() => sandbox.readFile('/etc/hostname', soon()));
    for (const outcome of await Promise.allSettled(asked)) {
      expect(outcome).toMatchObject({
        reason: { code: 'sandbox_unreachable', message: 'no such container' },
      });
    }
    expect(dial).toHaveBeenCalledTimes(1);
  });

  test('to what is no agent fails in words', async () => {
    const babble = new PassThrough();
    const sandbox = newSandbox(systemClock, async () => babble);
    babble.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    await expect(sandbox.ready(soon())).rejects.toMatchObject({ code: 'sandbox_unreachable' });
  });

  test('whose stream ends as it is handed over fails its request and nothing else', async () => {
    const program = join(import.meta.dirname, 'support/failed-dials.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [program]);
    expect(stdout.trimEnd().split('\n')).toEqual([
      'failed: EmergentError: the container is gone',
      'babbling: EmergentError: Protocol error',
    ]);
  });
});
