import { expect, test } from 'vitest';
import { Failure } from '../../src/cli/failure.ts';
import { reconnecting } from '../../src/cli/remote/reconnect.ts';
import { FakeClock } from '../support/clock.ts';

test('a server that stays away is given up after a minute', async () => {
  const clock = new FakeClock();
  const told: string[] = [];
  let opened = 0;
  const open = async (): Promise<AsyncIterable<number>> => {
    opened += 1;
    if (opened > 1) throw new Failure('unreachable', 'cannot reach the server');
    return (async function* () {
      yield 1;
      throw new Failure('connection_lost', 'the connection was lost');
    })();
  };
  const { signal } = new AbortController();
  const events = reconnecting(open, { clock, signal, tell: (text) => told.push(text) });
  expect((await events.next()).value).toBe(1);
  const over = expect(events.next()).rejects.toThrow('cannot reach the server');
  await clock.whenSleeping();
  await clock.advance(59_000);
  expect(clock.sleeping).toBe(1);
  await clock.advance(3_000);
  await over;
  expect(clock.sleeping).toBe(0);
  expect(told).toEqual(['the connection was lost; connecting again']);
});

test('a server that was reached before is waited for, from the first opening on', async () => {
  const clock = new FakeClock();
  const told: string[] = [];
  const answers = [
    () => Promise.reject(new Failure('unreachable', 'cannot reach the server')),
    async () =>
      (async function* () {
        yield 1;
      })(),
  ];
  const open = (): Promise<AsyncIterable<number>> =>
    answers.shift()?.() ?? Promise.reject(new Error('opened too often'));
  const { signal } = new AbortController();
  const options = { clock, signal, tell: (text: string) => void told.push(text) };
  const events = Array.fromAsync(reconnecting(open, options, true));
  await clock.whenSleeping();
  await clock.advance(250);
  expect(await events).toEqual([1]);
  expect(told).toEqual(['cannot reach the server; connecting again', 'connected again']);
});
