import { describe, expect, it, vi } from 'vitest';
import { EmergentError } from '../../../../../src/domain/errors.ts';
import { options, Pipe, settled, testClient } from './support/pipe.ts';

const anna = testClient('anna');
const bert = testClient('bert');

describe('calls', () => {
  it('gives each an id of its own and brings each its answer, in any order', async () => {
    const pipe = new Pipe();
    const first = pipe.bridge.call({ method: 'a', params: { x: 1 } }, options(anna));
    const second = pipe.bridge.call({ method: 'b' }, options(bert));
    await settled();
    expect(pipe.last('a')).toMatchObject({ jsonrpc: '2.0', params: { x: 1 } });
    expect(pipe.bridge.inFlight).toBe(2);
    pipe.answer(pipe.last('b').id, { of: 'b' });
    const error = { code: -32_000, message: 'no', data: { why: 1 } };
    pipe.say({ jsonrpc: '2.0', id: pipe.last('a').id, error });
    expect(await second).toEqual({ result: { of: 'b' } });
    expect(await first).toEqual({ error });
    expect(pipe.bridge.inFlight).toBe(0);
    expect(pipe.clock.sleeping).toBe(0);
  });

  it('counts answers that are late, given twice, or to what an earlier server has asked', async () => {
    const pipe = new Pipe();
    const call = pipe.bridge.call({ method: 'a' }, options(anna));
    await settled();
    const { id = 0 } = pipe.last('a');
    pipe.answer(id + 1);
    pipe.answer(id - 1);
    pipe.answer(id, { n: 1 });
    pipe.answer(id, { n: 2 });
    pipe.say({ jsonrpc: '2.0', id: null, error: { code: -32_700, message: 'parse error' } });
    expect(await call).toEqual({ result: { n: 1 } });
    expect(pipe.bridge.lateAnswers).toBe(4);
  });

  it('begins anywhere with its ids, and they are small numbers', async () => {
    const ids = new Set<unknown>();
    for (let index = 0; index < 5; index++) {
      const pipe = new Pipe();
      void pipe.bridge.call({ method: 'a' }, options(anna));
      await settled();
      const { id } = pipe.last('a');
      expect(id).toBeLessThan(2 ** 31);
      ids.add(id);
    }
    expect(ids.size).toBe(5);
  });

  it('knows its ids again where a program has made strings of them', async () => {
    const pipe = new Pipe();
    const call = pipe.bridge.call({ method: 'a' }, options(anna));
    await settled();
    pipe.say({ jsonrpc: '2.0', id: String(pipe.last('a').id), result: {} });
    expect(await call).toEqual({ result: {} });
  });

  it('is cancelled by its signal: the program is told, and its answer is dropped', async () => {
    const pipe = new Pipe();
    const abort = new AbortController();
    const call = pipe.bridge.call({ method: 'a' }, options(anna, { signal: abort.signal }));
    await settled();
    const reason = new Error('went away');
    abort.abort(reason);
    await expect(call).rejects.toBe(reason);
    await settled();
    const { id } = pipe.last('a');
    expect(pipe.last('notifications/cancelled').params).toMatchObject({ requestId: id });
    pipe.answer(id);
    expect(pipe.bridge.inFlight).toBe(0);
  });

  it('is not begun where its signal has aborted before', async () => {
    const pipe = new Pipe();
    const reason = new Error('gone');
    const signal = AbortSignal.abort(reason);
    await expect(pipe.bridge.call({ method: 'a' }, options(anna, { signal }))).rejects.toBe(reason);
    expect(pipe.read).toEqual([]);
  });

  it('is taken back from the queue where the program has not read it yet', async () => {
    const pipe = new Pipe();
    const gate = Promise.withResolvers<undefined>();
    pipe.stuck = gate.promise;
    const abort = new AbortController();
    const first = pipe.bridge.call({ method: 'a' }, options(anna));
    const second = pipe.bridge.call({ method: 'b' }, options(anna, { signal: abort.signal }));
    abort.abort(new Error('no'));
    await expect(second).rejects.toThrow('no');
    gate.resolve(undefined);
    await settled();
    expect(pipe.methods()).toEqual(['a']);
    pipe.answer(pipe.last('a').id);
    await first;
  });

  it('fails when its time is over, and tells the program', async () => {
    const pipe = new Pipe();
    const call = pipe.bridge.call({ method: 'slow' }, options(anna, { timeoutMs: 1_000 }));
    const failed = expect(call).rejects.toMatchObject({
      code: 'deadline_exceeded',
      message: 'the MCP server did not answer slow within 1000 ms',
    });
    await pipe.clock.advance(1_000);
    await failed;
    expect(pipe.methods()).toEqual(['slow', 'notifications/cancelled']);
  });

  it('hears of progress under its own token, and gets new time with it', async () => {
    const pipe = new Pipe();
    const onProgress = vi.fn();
    const request = { method: 'slow', params: { _meta: { progressToken: 'mine', other: 1 } } };
    const call = pipe.bridge.call(request, options(anna, { timeoutMs: 1_000, onProgress }));
    await settled();
    const { id, params } = pipe.last('slow');
    expect(params).toEqual({ _meta: { progressToken: id, other: 1 } });
    await pipe.clock.advance(900);
    pipe.notify('notifications/progress', { progressToken: id, progress: 5 });
    pipe.notify('notifications/progress', { progressToken: 'mine', progress: 6 });
    await pipe.clock.advance(900);
    expect(onProgress).toHaveBeenCalledExactlyOnceWith({
      method: 'notifications/progress',
      params: { progressToken: 'mine', progress: 5 },
    });
    pipe.answer(id);
    expect(await call).toEqual({ result: {} });
  });

  it('ends after ten times its timeout, whatever the progress', async () => {
    const pipe = new Pipe();
    const onProgress = vi.fn();
    const request = { method: 'slow', params: { _meta: { progressToken: 1 } } };
    const call = pipe.bridge.call(request, options(anna, { timeoutMs: 1_000, onProgress }));
    const failed = expect(call).rejects.toMatchObject({ code: 'deadline_exceeded' });
    await settled();
    const { id } = pipe.last('slow');
    for (let index = 0; index < 20; index++) {
      pipe.notify('notifications/progress', { progressToken: id, progress: index });
      await pipe.clock.advance(500);
    }
    await failed;
  });

  it('does not ask the program for progress that nobody hears of', async () => {
    const pipe = new Pipe();
    const params = { _meta: { progressToken: 7 } };
    void pipe.bridge.call({ method: 'a', params }, options(anna));
    await settled();
    expect(pipe.last('a').params).toEqual({ _meta: {} });
  });

  it('fails with what the bridge is closed with, in flight or waiting, and ever after', async () => {
    const pipe = new Pipe({ maxInFlight: 1 });
    const why = new EmergentError('mcp_failed', 'the program has ended');
    const calls = [
      pipe.bridge.call({ method: 'a' }, options(anna)),
      pipe.bridge.call({ method: 'b' }, options(anna)),
    ];
    const all = Promise.all(calls.map((call) => expect(call).rejects.toBe(why)));
    pipe.bridge.close(why);
    await all;
    expect(pipe.bridge.ended.reason).toBe(why);
    await expect(pipe.bridge.call({ method: 'c' }, options(anna))).rejects.toBe(why);
    await expect(pipe.bridge.ping(1_000, new AbortController().signal)).rejects.toBe(why);
    expect(pipe.bridge).toMatchObject({ inFlight: 0, waiting: 0 });
    expect(pipe.clock.sleeping).toBe(0);
  });

  it('is refused where the program has not introduced itself', async () => {
    const pipe = new Pipe({ introduction: null });
    const call = pipe.bridge.call({ method: 'a' }, options(anna));
    await expect(call).rejects.toMatchObject({ code: 'mcp_unavailable' });
    expect(() => pipe.bridge.introduction).toThrow('has not introduced itself');
  });

  it.each(['initialize', 'server/discover', 'subscriptions/listen', 'notifications/initialized'])(
    'does not pass %s on',
    async (method) => {
      const pipe = new Pipe();
      expect(await pipe.bridge.call({ method }, options(anna))).toMatchObject({
        error: { code: -32_600 },
      });
      expect(pipe.read).toEqual([]);
    },
  );

  it('really asks the program for a ping, beside all turns', async () => {
    const pipe = new Pipe({ maxInFlight: 1 });
    void pipe.bridge.call({ method: 'busy' }, options(anna));
    const call = pipe.bridge.call({ method: 'ping' }, options(anna));
    const ping = pipe.bridge.ping(1_000, new AbortController().signal);
    await settled();
    const [, first, second] = pipe.read;
    pipe.answer(first?.id, null);
    pipe.say({ jsonrpc: '2.0', id: second?.id, error: { code: -32_601, message: 'what?' } });
    expect(await call).toEqual({ result: {} });
    await ping;
  });

  it('is refused where it is too large', async () => {
    const pipe = new Pipe();
    const params = { text: 'x'.repeat(5 * 1024 * 1024) };
    const call = pipe.bridge.call({ method: 'a', params }, options(anna));
    await expect(call).rejects.toMatchObject({ code: 'invalid_value' });
    expect(pipe.bridge.inFlight).toBe(0);
  });
});
