import { describe, expect, test } from 'vitest';
import { Slots } from '../../../src/base/slots.ts';

const never = new AbortController().signal;

/** Work that goes on until the test ends it. */
function held(begun: string[], name: string): { work: () => Promise<string>; end: () => void } {
  const { promise, resolve } = Promise.withResolvers<string>();
  return {
    work: () => {
      begun.push(name);
      return promise;
    },
    end: () => {
      resolve(name);
    },
  };
}

describe('slots', () => {
  test('work on as many as there are, the others in their order', async () => {
    const slots = new Slots(2);
    const begun: string[] = [];
    const works = ['a', 'b', 'c', 'd'].map((name) => held(begun, name));
    const running = works.map(({ work }) => slots.use(work, never));
    expect(begun).toEqual(['a', 'b']);
    works[1]?.end();
    expect(await running[1]).toBe('b');
    expect(begun).toEqual(['a', 'b', 'c']);
    works[0]?.end();
    works[2]?.end();
    works[3]?.end();
    expect(await Promise.all(running)).toEqual(['a', 'b', 'c', 'd']);
  });

  test('are free again after a failure', async () => {
    const slots = new Slots(1);
    await expect(slots.use(() => Promise.reject(new Error('no')), never)).rejects.toThrow('no');
    expect(await slots.use(() => Promise.resolve('yes'), never)).toBe('yes');
  });

  test('who gives up waiting does not come to his turn', async () => {
    const slots = new Slots(1);
    const begun: string[] = [];
    const [first, second, third] = ['1', '2', '3'].map((name) => held(begun, name));
    const running = slots.use(first?.work ?? fail, never);
    const patience = new AbortController();
    const waiting = slots.use(second?.work ?? fail, patience.signal);
    const last = slots.use(third?.work ?? fail, never);
    patience.abort(new Error('too long'));
    await expect(waiting).rejects.toThrow('too long');
    first?.end();
    third?.end();
    await Promise.all([running, last]);
    expect(begun).toEqual(['1', '3']);
    await expect(slots.use(fail, patience.signal)).rejects.toThrow('too long');
  });
});

function fail(): Promise<string> {
  throw new Error('never begun');
}
