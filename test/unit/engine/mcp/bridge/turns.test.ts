import { describe, expect, it } from 'vitest';
import { EmergentError } from '../../../../../src/domain/errors.ts';
import { options, Pipe, settled, testClient } from './support/pipe.ts';

const anna = testClient('anna');

describe('turns', () => {
  it('gives the program no more than its share, and the others their turn in order', async () => {
    const pipe = new Pipe({ maxInFlight: 1 });
    const calls = ['a', 'b', 'c'].map((method) => pipe.bridge.call({ method }, options(anna)));
    await settled();
    expect(pipe.methods()).toEqual(['a']);
    expect(pipe.bridge).toMatchObject({ inFlight: 1, waiting: 2 });
    pipe.answer(pipe.last('a').id);
    await settled();
    expect(pipe.methods()).toEqual(['a', 'b']);
    pipe.answer(pipe.last('b').id);
    await settled();
    pipe.answer(pipe.last('c').id);
    expect(await Promise.all(calls)).toHaveLength(3);
    expect(pipe.bridge).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  it('lets time and signal end a call that waits, which the program never hears of', async () => {
    const pipe = new Pipe({ maxInFlight: 1 });
    void pipe.bridge.call({ method: 'a' }, options(anna));
    const abort = new AbortController();
    const late = pipe.bridge.call({ method: 'late' }, options(anna, { timeoutMs: 500 }));
    const gone = pipe.bridge.call({ method: 'gone' }, options(anna, { signal: abort.signal }));
    const both = Promise.all([
      expect(late).rejects.toThrow('did not get its turn within 500 ms'),
      expect(gone).rejects.toThrow('changed my mind'),
    ]);
    abort.abort(new Error('changed my mind'));
    await pipe.clock.advance(500);
    await both;
    pipe.answer(pipe.last('a').id);
    await settled();
    expect(pipe.methods()).toEqual(['a']);
    expect(pipe.bridge).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  it('bounds how many wait', async () => {
    const pipe = new Pipe({ maxInFlight: 1 });
    const calls = Array.from({ length: 257 }, () =>
      pipe.bridge.call({ method: 'a' }, options(anna)),
    );
    await expect(pipe.bridge.call({ method: 'a' }, options(anna))).rejects.toMatchObject({
      code: 'mcp_unavailable',
    });
    expect(pipe.bridge.waiting).toBe(256);
    pipe.bridge.close(new EmergentError('mcp_failed', 'over'));
    expect(await Promise.allSettled(calls)).toHaveLength(257);
  });
});
