import { describe, expect, it } from 'vitest';
import { EmergentError } from '../../../../../src/domain/errors.ts';
import { options, Pipe, settled, testClient } from './support/pipe.ts';

const anna = testClient('anna');

describe('a program that does not read', () => {
  it('is written to in one piece after the other, and many messages at once', async () => {
    const pipe = new Pipe();
    const gate = Promise.withResolvers<undefined>();
    pipe.stuck = gate.promise;
    for (const method of ['a', 'b', 'c']) void pipe.bridge.call({ method }, options(anna));
    await settled();
    expect(pipe.writes).toBe(1);
    gate.resolve(undefined);
    await settled();
    expect(pipe.writes).toBe(2);
    expect(pipe.methods()).toEqual(['a', 'b', 'c']);
  });

  it('fails the calls that it does not take in time', async () => {
    const pipe = new Pipe();
    pipe.stuck = Promise.withResolvers<undefined>().promise;
    const call = pipe.bridge.call({ method: 'a' }, options(anna));
    const failed = expect(call).rejects.toMatchObject({ code: 'mcp_failed' });
    await pipe.clock.advance(30_000);
    await failed;
    pipe.stuck = null;
    const next = pipe.bridge.call({ method: 'b' }, options(anna));
    await settled();
    pipe.answer(pipe.last('b').id);
    expect(await next).toEqual({ result: {} });
  });

  it('fails a call that cannot be written, and begins the next on a line of its own', async () => {
    const pipe = new Pipe();
    const texts: string[] = [];
    pipe.stuck = Promise.reject(new Error('broken pipe'));
    const call = pipe.bridge.call({ method: 'a' }, options(anna));
    await expect(call).rejects.toThrow('could not be told: broken pipe');
    pipe.stuck = null;
    pipe.onWrite = (text) => texts.push(text);
    void pipe.bridge.call({ method: 'b' }, options(anna));
    void pipe.bridge.call({ method: 'c' }, options(anna));
    await settled();
    expect(texts.map((text) => text.startsWith('\n'))).toEqual([true, false]);
  });

  it('is given no more than a bounded amount to read', async () => {
    const pipe = new Pipe();
    pipe.stuck = Promise.withResolvers<undefined>().promise;
    const params = { text: 'x'.repeat(3 * 1024 * 1024) };
    const calls = Array.from({ length: 7 }, () =>
      pipe.bridge.call({ method: 'a', params }, options(anna)),
    );
    await expect(calls[6]).rejects.toThrow('does not read its standard input');
    pipe.bridge.close(new EmergentError('mcp_failed', 'over'));
    expect(await Promise.allSettled(calls)).toHaveLength(7);
  });
});
