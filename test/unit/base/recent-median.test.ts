import { expect, test } from 'vitest';
import { RecentMedian } from '../../../src/base/recent-median.ts';

test('a median is of the last values only, and of none is null', () => {
  const median = new RecentMedian();
  expect(median.value).toBeNull();
  for (const value of [30, 10, 20]) median.add(value);
  expect(median.value).toBe(20);
  for (let count = 0; count < 20; count += 1) median.add(7);
  expect(median.value).toBe(7);
});
