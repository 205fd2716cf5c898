import { availableParallelism, totalmem } from 'node:os';
import { expect, test } from 'vitest';
import { freeResources } from '../../../src/base/free-resources.ts';

test('what is free is never less than nothing, and never more than there is', () => {
  const { cpu, memoryBytes } = freeResources();
  expect(cpu).toBeGreaterThanOrEqual(0);
  expect(cpu).toBeLessThanOrEqual(availableParallelism());
  expect(memoryBytes).toBeGreaterThan(0);
  expect(memoryBytes).toBeLessThan(totalmem());
  expect(freeResources(0).cpu).toBe(0);
});
