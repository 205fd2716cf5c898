import { describe, expect, test } from 'vitest';
import { differences, poolKeyOf } from '../../../src/domain/warm-pool.ts';
import type { PoolShape } from '../../../src/domain/warm-pool.ts';

const shape: PoolShape = {
  image: 'base',
  limits: { cpu: 2, memoryBytes: 4 * 2 ** 30, diskBytes: 10 * 2 ** 30 },
  network: 'nat',
};

const others: readonly (readonly [string, PoolShape])[] = [
  ['image', { ...shape, image: 'other' }],
  ['cpu', { ...shape, limits: { ...shape.limits, cpu: 1 } }],
  ['memory', { ...shape, limits: { ...shape.limits, memoryBytes: 2 ** 30 } }],
  ['disk', { ...shape, limits: { ...shape.limits, diskBytes: 2 ** 30 } }],
  ['network', { ...shape, network: 'isolated' }],
];

describe('a waiting sandbox and a request', () => {
  test('are alike when nothing differs', () => {
    expect(differences(shape, { ...shape, limits: { ...shape.limits } })).toEqual([]);
  });

  test.each(others)('differ by %s, and it is named', (what, other) => {
    expect(differences(shape, other)).toEqual([what]);
  });
});

describe('the key of a pool', () => {
  const key = poolKeyOf('gvisor', shape, 'image 1', '1.0.0');

  test('is the same for the same', () => {
    expect(poolKeyOf('gvisor', { ...shape }, 'image 1', '1.0.0')).toBe(key);
  });

  test.each(others)('is another for another %s', (_, other) => {
    expect(poolKeyOf('gvisor', other, 'image 1', '1.0.0')).not.toBe(key);
  });

  test('is another on another provider, for another image of the same name, and for another release', () => {
    expect(poolKeyOf('firecracker', shape, 'image 1', '1.0.0')).not.toBe(key);
    expect(poolKeyOf('gvisor', shape, 'image 2', '1.0.0')).not.toBe(key);
    expect(poolKeyOf('gvisor', shape, 'image 1', '1.0.1')).not.toBe(key);
  });
});
