import { once } from 'node:events';
import { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import { describe, expect, test, vi } from 'vitest';
import { isNotRunning } from '../../../../src/providers/guest/not-running.ts';
import { execDial } from '../../../../src/providers/gvisor/dial.ts';
import { FakeClock } from '../../../support/clock.ts';

const never = new AbortController().signal;
const exited = { Status: 'exited', ExitCode: 1, Error: '', FinishedAt: '2030-01-01T00:00:00Z' };
const running = { Status: 'running', Running: true };

/** As dockerode reports a refusal of the engine. */
function refusal(statusCode: number): Error {
  return Object.assign(new Error('refused'), { statusCode, json: { message: 'refused' } });
}

/** A container whose end and whose exec's output are the test's to decide. */
function setUp(state: unknown = exited) {
  const ended = Promise.withResolvers<void>();
  const socket = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => {
      done();
    },
  });
  const container = {
    id: 'box',
    exec: vi.fn(async () => ({ start: async () => socket })),
    wait: vi.fn(async (options: { readonly abortSignal: AbortSignal }) => {
      options.abortSignal.addEventListener('abort', () => {
        ended.reject(new Error('aborted'));
      });
      await ended.promise;
    }),
    inspect: vi.fn(async () => {
      if (state instanceof Error) throw state;
      return { State: state };
    }),
  };
  const clock = new FakeClock();
  const docker = { getContainer: () => container } as unknown as Docker;
  const dial = execDial(docker, 'box', clock);
  return { dial, container, socket, clock, end: ended.resolve };
}

async function failureOf(stream: Duplex): Promise<unknown> {
  const [error] = (await once(stream, 'error')) as [unknown];
  return error;
}

describe('execDial', () => {
  test('a container that ends before the agent has said anything ends the stream', async () => {
    const { dial, end } = setUp();
    const failing = failureOf(await dial(never));
    end();
    const failure = await failing;
    expect(isNotRunning(failure)).toBe(true);
    expect(failure).toMatchObject({
      code: 'sandbox_unreachable',
      message: 'the container box is not running: exited with code 1 at 2030-01-01T00:00:00.000Z',
    });
  });

  test('what the agent said last has a moment to arrive', async () => {
    const { dial, end, socket, clock } = setUp();
    const stream = await dial(never);
    const failing = failureOf(stream);
    socket.push(Buffer.from([1, 0, 0, 0, 0, 0, 0, 2, 104, 105]));
    await once(stream, 'readable');
    end();
    await clock.whenSleeping();
    expect(stream.destroyed).toBe(false);
    expect(String(stream.read())).toBe('hi');
    await clock.advance(1_000);
    expect(isNotRunning(await failing)).toBe(true);
  });

  test('nobody waits for the container once the stream is closed', async () => {
    const { dial, container } = setUp();
    const stream = await dial(never);
    stream.destroy();
    await once(stream, 'close');
    expect(container.wait.mock.calls[0]?.[0].abortSignal.aborted).toBe(true);
    expect(container.inspect).not.toHaveBeenCalled();
  });

  test.each([
    ['has ended', exited, /^the container box is not running: exited with code 1 at /, true],
    ['is gone', refusal(404), /^the container box does not exist$/, true],
    ['is paused', { ...running, Paused: true }, /^the container box is paused$/, false],
    ['runs', running, /^the container box cannot be reached: opening a bridge: refused$/, false],
    ['cannot be looked at', refusal(500), /^the container box cannot be reached: /, false],
  ])('a refusal because it %s says so', async (_how, state, message, known) => {
    const { dial, container } = setUp(state);
    container.exec.mockRejectedValue(refusal(409));
    const failure = await dial(never).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'sandbox_unreachable',
      message: expect.stringMatching(message) as unknown,
    });
    expect(isNotRunning(failure)).toBe(known);
  });

  test('an engine that is away is not taken for a container that is', async () => {
    const { dial, container } = setUp();
    container.exec.mockRejectedValue(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }));
    await expect(dial(never)).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect(container.inspect).not.toHaveBeenCalled();
  });
});
