import { expect, test } from 'vitest';
import { Failure } from '../../../src/cli/failure.ts';
import type { WarmPool, WarmPoolReport } from '../../../src/cli/http/api-types.ts';
import { waitForPool } from '../../../src/cli/remote/wait-for-pool.ts';
import { FakeClock } from '../../support/clock.ts';

const full: WarmPool = {
  ...{ name: 'default', size: 3, ready: 3, creating: 0, provider: 'gvisor', image: 'base' },
  resource_limits: { cpu: 2, memory: '4G', disk: '10G' },
  ...{ network: 'nat', state: 'ready', reason: null },
};
const blocked: WarmPool = { ...full, ready: 1, state: 'blocked', reason: 'no engine' };

interface Waiting {
  /** What is answered from now on. */
  answer: Partial<WarmPool> | Failure | null;
  readonly told: string[];
  readonly clock: FakeClock;
  readonly result: Promise<WarmPoolReport>;
}

function wait(answer: Waiting['answer'], timeoutMs = 120_000): Waiting {
  const clock = new FakeClock();
  const told: string[] = [];
  const waiting = { answer, told, clock };
  const read = async (): Promise<WarmPoolReport> => {
    const now = waiting.answer;
    if (now instanceof Failure) throw now;
    return { pools: now ? [{ ...full, ...now }] : [], hits: {}, misses: {} };
  };
  const result = waitForPool('default', 3, {
    ...{ read, timeoutMs, clock, signal: new AbortController().signal },
    tell: (text) => told.push(text),
  });
  result.catch(() => undefined);
  return Object.assign(waiting, { result });
}

test('a pool that is there needs no waiting', async () => {
  const { result, told } = wait({});
  expect((await result).pools).toEqual([full]);
  expect(told).toEqual([]);
});

test.each([
  ['too few', { ready: 2 }],
  ['some are still made', { creating: 1 }],
  ['too many', { ready: 5, state: 'draining' }],
  ['some are still taken away', { state: 'draining' }],
])('%s: it waits', async (_, first) => {
  const waiting = wait(first);
  await waiting.clock.whenSleeping();
  await waiting.clock.advance(60_000);
  waiting.answer = {};
  await waiting.clock.advance(500);
  expect((await waiting.result).pools).toEqual([full]);
});

test('what blocks it for a moment passes', async () => {
  const waiting = wait(blocked);
  await waiting.clock.whenSleeping();
  await waiting.clock.advance(14_000);
  waiting.answer = { ready: 2, state: 'filling' };
  await waiting.clock.advance(1_000);
  waiting.answer = blocked;
  await waiting.clock.advance(14_000);
  waiting.answer = {};
  await waiting.clock.advance(500);
  expect((await waiting.result).pools).toEqual([full]);
  expect(waiting.told[0]).toBe('pool default: 1 of 3 ready, 0 being made (blocked: no engine)');
});

test('what blocks it for longer is the reason of the failure', async () => {
  const { clock, result } = wait(blocked);
  await clock.whenSleeping();
  await clock.advance(15_000);
  await expect(result).rejects.toMatchObject({
    code: 'pool_blocked',
    message: 'pool default cannot be filled: no engine',
  });
});

test('it ends when there is no more time, with how far it was', async () => {
  const { clock, result } = wait({ ready: 2, creating: 1, state: 'filling' }, 5_000);
  await clock.whenSleeping();
  await clock.advance(5_000);
  await expect(result).rejects.toMatchObject({
    code: 'pool_not_converged',
    message: 'pool default is not there after 5 s: 2 of 3 ready, 1 being made (filling)',
  });
});

test('a server that restarts is waited for, and one that refuses is not', async () => {
  const waiting = wait(new Failure('unreachable', 'no server'));
  await waiting.clock.whenSleeping();
  expect(waiting.told).toEqual(['pool default: no server']);
  waiting.answer = {};
  await waiting.clock.advance(500);
  await waiting.result;
  await expect(wait(new Failure('unauthenticated', 'who?')).result).rejects.toThrow('who?');
});

test.each([
  ['has been resized to 7 by somebody else', { size: 7 }],
  ['is gone', null],
])('a pool that %s is not waited for', async (says, answer) => {
  await expect(wait(answer).result).rejects.toThrow(says);
});
