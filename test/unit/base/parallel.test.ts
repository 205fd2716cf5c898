import { describe, expect, test } from 'vitest';
import { inParallel } from '../../../src/base/parallel.ts';

/** Work that goes on until the test ends it, item by item. */
function heldWork(): {
  readonly work: (item: number) => Promise<number>;
  readonly begun: number[];
  readonly end: (item: number, failure?: Error) => void;
} {
  const begun: number[] = [];
  const ends = new Map<number, PromiseWithResolvers<number>>();
  return {
    begun,
    work: (item) => {
      const end = Promise.withResolvers<number>();
      begun.push(item);
      ends.set(item, end);
      return end.promise;
    },
    end: (item, failure) => {
      if (failure) ends.get(item)?.reject(failure);
      else ends.get(item)?.resolve(item * 10);
    },
  };
}

/** Lets all that can go on without outside help go on. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('inParallel', () => {
  test('begins as many as the limit, and the next one when one has ended', async () => {
    const { work, begun, end } = heldWork();
    const all = inParallel(2, [1, 2, 3], work);
    await settled();
    expect(begun).toEqual([1, 2]);
    end(2);
    await settled();
    expect(begun).toEqual([1, 2, 3]);
    end(3);
    end(1);
    expect(await all).toEqual([10, 20, 30]);
  });

  test('nothing to do is done at once', async () => {
    expect(await inParallel(4, [], heldWork().work)).toEqual([]);
  });

  test('after a failure nothing more is begun', async () => {
    const { work, begun, end } = heldWork();
    const all = inParallel(2, [1, 2, 3], work);
    await settled();
    end(1, new Error('broken'));
    await expect(all).rejects.toThrow('broken');
    end(2);
    await settled();
    expect(begun).toEqual([1, 2]);
  });
});
