import { expect, test } from 'vitest';
import { ProgressTeller } from '../../../../src/api/mcp-tools/progress.ts';
import type { Progress } from '../../../../src/api/mcp-tools/progress.ts';
import { FakeClock } from '../../../support/clock.ts';

function telling(send?: (progress: Progress) => Promise<void>): {
  clock: FakeClock;
  heard: Progress[];
  teller: ProgressTeller;
} {
  const clock = new FakeClock();
  const heard: Progress[] = [];
  const keep = async (progress: Progress): Promise<void> => {
    heard.push(progress);
    await send?.(progress);
  };
  return { clock, heard, teller: new ProgressTeller(keep, clock) };
}

test('tells the first at once, and of many only the last, a quarter of a second later', async () => {
  const { clock, heard, teller } = telling();
  await clock.whenSleeping();
  teller.note('one');
  await expect.poll(() => heard).toEqual([{ progress: 0, message: 'one' }]);
  await clock.whenSleeping();
  teller.note('two');
  teller.note('three');
  await clock.advance(249);
  expect(heard).toHaveLength(1);
  await clock.advance(1);
  await expect.poll(() => heard.slice(1)).toEqual([{ progress: 0.25, message: 'three' }]);
  teller[Symbol.dispose]();
});

test('gives a sign of life while nothing happens', async () => {
  const { clock, heard, teller } = telling();
  await clock.whenSleeping();
  await clock.advance(10_000);
  await expect.poll(() => heard).toEqual([{ progress: 10, message: 'running' }]);
  teller[Symbol.dispose]();
});

test('is silent when disposed of, or when nobody takes it', async () => {
  const disposed = telling();
  await disposed.clock.whenSleeping();
  disposed.teller[Symbol.dispose]();
  disposed.teller.note('late');
  await disposed.clock.advance(60_000);
  expect(disposed.heard).toEqual([]);

  const refused = telling(() => Promise.reject(new Error('gone')));
  await refused.clock.whenSleeping();
  refused.teller.note('one');
  await expect.poll(() => refused.heard).toHaveLength(1);
  refused.teller.note('two');
  await refused.clock.advance(60_000);
  expect(refused.heard).toHaveLength(1);
});
