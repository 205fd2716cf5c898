import { describe, expect, it, vi } from 'vitest';
import { EmergentError } from '../../../../../src/domain/errors.ts';
import type { JsonRpcOutcome } from '../../../../../src/domain/json-rpc.ts';
import type { McpClient } from '../../../../../src/engine/mcp/connection.ts';
import { options, Pipe, settled, testClient } from './support/pipe.ts';

const everything = { sampling: { tools: {} }, elicitation: { form: {} }, roots: {} };

function askable(id: string, answer: JsonRpcOutcome = { result: { by: id } }) {
  const request = vi.fn<NonNullable<McpClient['request']>>(() => Promise.resolve(answer));
  return { ...testClient(id, { capabilities: everything }), request };
}

/** A question that stays open until the test answers it. */
function thoughtful(id: string) {
  const answer = Promise.withResolvers<JsonRpcOutcome>();
  const request = vi.fn<NonNullable<McpClient['request']>>(() => answer.promise);
  return { ...testClient(id, { capabilities: everything }), request, answer };
}

const tool = { method: 'tools/call', params: { name: 'x' } };

describe('questions of the program', () => {
  it('are answered by us where they are a ping', async () => {
    const pipe = new Pipe();
    pipe.ask('p', 'ping');
    await settled();
    expect(pipe.answerTo('p')).toEqual({ jsonrpc: '2.0', id: 'p', result: {} });
  });

  it('go to the client whose call is in flight, as they are', async () => {
    const pipe = new Pipe();
    const [anna, bert] = [askable('anna'), askable('bert')];
    using _ = pipe.bridge.attach(bert);
    void pipe.bridge.call(tool, options(anna));
    pipe.ask(1, 'sampling/createMessage', { maxTokens: 5 });
    await settled();
    const asked = { method: 'sampling/createMessage', params: { maxTokens: 5 } };
    expect(anna.request).toHaveBeenCalledExactlyOnceWith(asked, expect.any(AbortSignal));
    expect(pipe.answerTo(1)).toEqual({ jsonrpc: '2.0', id: 1, result: { by: 'anna' } });
    expect(bert.request).not.toHaveBeenCalled();
  });

  it('pass a refusal of the client on', async () => {
    const pipe = new Pipe();
    const error = { code: -1, message: 'the user says no' };
    void pipe.bridge.call(tool, options(askable('anna', { error })));
    pipe.ask(1, 'elicitation/create');
    await settled();
    expect(pipe.answerTo(1)).toEqual({ jsonrpc: '2.0', id: 1, error });
  });

  it('are refused where no call is in flight, and the answer says why', async () => {
    const pipe = new Pipe();
    using _ = pipe.bridge.attach(askable('anna'));
    pipe.ask(1, 'roots/list');
    await settled();
    expect(pipe.answerTo(1)).toMatchObject({
      error: { code: -32_601, message: expect.stringContaining('no call of a client') as string },
    });
  });

  it.each([
    ['roots/list', {}, {}, 'roots'],
    ['sampling/createMessage', {}, { roots: {} }, 'sampling'],
    ['sampling/createMessage', { tools: [] }, { sampling: {} }, 'sampling.tools'],
    ['elicitation/create', {}, { elicitation: { url: {} } }, 'elicitation.form'],
    ['elicitation/create', { mode: 'url' }, { elicitation: {} }, 'elicitation.url'],
    ['custom/thing', {}, everything, 'any such request'],
    ['__proto__', {}, everything, 'any such request'],
  ])('are refused where the client cannot: %s %o', async (method, params, capabilities, what) => {
    const pipe = new Pipe();
    void pipe.bridge.call(tool, options({ ...askable('anna'), capabilities }));
    pipe.ask(1, method, params);
    await settled();
    expect(pipe.answerTo(1)).toMatchObject({
      error: { code: -32_601, message: `${method}: the client has not declared ${what}` },
    });
  });

  it('are refused where the client cannot be asked in its way of talking', async () => {
    const pipe = new Pipe();
    void pipe.bridge.call(tool, options(testClient('anna', { capabilities: everything })));
    pipe.ask(1, 'roots/list');
    await settled();
    expect(pipe.answerTo(1)).toMatchObject({ error: { code: -32_601 } });
  });

  it('are refused where calls of several clients are in flight: nobody is asked about another', async () => {
    const pipe = new Pipe();
    const [anna, bert] = [askable('anna'), testClient('bert')];
    void pipe.bridge.call(tool, options(anna));
    void pipe.bridge.call(tool, options(bert));
    pipe.ask(1, 'roots/list');
    await settled();
    expect(pipe.answerTo(1)).toMatchObject({
      error: { code: -32_603, message: expect.stringContaining('max_in_flight 1') as string },
    });
    expect(anna.request).not.toHaveBeenCalled();
  });

  it('are not held up by what another client only looks up', async () => {
    const pipe = new Pipe();
    const anna = askable('anna');
    void pipe.bridge.call(tool, options(anna));
    void pipe.bridge.call({ method: 'tools/list' }, options(testClient('bert')));
    pipe.ask(1, 'roots/list');
    await settled();
    expect(pipe.answerTo(1)).toMatchObject({ result: { by: 'anna' } });
  });

  it('reach the right client where calls are serialised', async () => {
    const pipe = new Pipe({ maxInFlight: 1 });
    const [anna, bert] = [askable('anna'), askable('bert')];
    void pipe.bridge.call(tool, options(anna));
    void pipe.bridge.call(tool, options(bert));
    pipe.ask(1, 'roots/list');
    await settled();
    pipe.answer(pipe.last('tools/call').id);
    pipe.ask(2, 'roots/list');
    await settled();
    expect(pipe.answerTo(1)).toMatchObject({ result: { by: 'anna' } });
    expect(pipe.answerTo(2)).toMatchObject({ result: { by: 'bert' } });
  });

  it('end with the call that they are about', async () => {
    const pipe = new Pipe();
    const anna = thoughtful('anna');
    const call = pipe.bridge.call(tool, options(anna));
    pipe.ask(1, 'elicitation/create');
    await settled();
    pipe.answer(pipe.last('tools/call').id);
    await call;
    await settled();
    expect(anna.request.mock.lastCall?.[1].aborted).toBe(true);
    expect(pipe.answerTo(1)).toMatchObject({ error: { code: -32_603 } });
    anna.answer.resolve({ result: {} });
    await settled();
    expect(pipe.read.filter(({ id }) => id === 1)).toHaveLength(1);
  });

  it('are taken back by the program, and then not answered', async () => {
    const pipe = new Pipe();
    const anna = thoughtful('anna');
    void pipe.bridge.call(tool, options(anna));
    pipe.ask('q', 'elicitation/create');
    await settled();
    pipe.notify('notifications/cancelled', { requestId: 'q' });
    expect(anna.request.mock.lastCall?.[1].aborted).toBe(true);
    anna.answer.resolve({ result: {} });
    await settled();
    expect(pipe.answerTo('q')).toBeUndefined();
  });

  it('are answered though the client fails', async () => {
    const pipe = new Pipe();
    const request = (): never => {
      throw new Error('secret detail');
    };
    void pipe.bridge.call(tool, options({ ...askable('anna'), request }));
    pipe.ask(1, 'roots/list');
    await settled();
    expect(pipe.answerTo(1)).toMatchObject({
      error: { code: -32_603, message: 'roots/list: the client did not answer' },
    });
  });

  it('are answered though the answer is too large to be passed on', async () => {
    const pipe = new Pipe();
    const result = { text: 'x'.repeat(5 * 1024 * 1024) };
    void pipe.bridge.call(tool, options(askable('anna', { result })));
    pipe.ask(1, 'roots/list');
    await settled();
    expect(pipe.answerTo(1)).toMatchObject({ error: { code: -32_603 } });
  });

  it('are bounded, and one id is open once', async () => {
    const pipe = new Pipe();
    const anna = thoughtful('anna');
    void pipe.bridge.call(tool, options(anna));
    pipe.ask(0, 'roots/list');
    for (let id = 0; id < 65; id++) pipe.ask(id, 'roots/list');
    await settled();
    expect(anna.request).toHaveBeenCalledTimes(64);
    expect(pipe.answerTo(0)).toMatchObject({ error: { code: -32_600 } });
    expect(pipe.answerTo(64)).toMatchObject({ error: { code: -32_603 } });
  });

  it('let a client tell the progress of what it was asked, and nothing else', async () => {
    const pipe = new Pipe();
    const anna = thoughtful('anna');
    void pipe.bridge.call(tool, options(anna));
    pipe.ask(1, 'sampling/createMessage', { _meta: { progressToken: 'tok' } });
    await settled();
    const method = 'notifications/progress';
    pipe.bridge.notify({ method, params: { progressToken: 'tok', progress: 1 } }, anna);
    pipe.bridge.notify({ method, params: { progressToken: 'other', progress: 1 } }, anna);
    pipe.bridge.notify({ method, params: { progressToken: 'tok', progress: 2 } }, testClient('b'));
    await settled();
    expect(pipe.read.filter((message) => message.method === method)).toEqual([
      { jsonrpc: '2.0', method, params: { progressToken: 'tok', progress: 1 } },
    ]);
  });

  it('are closed with the bridge', async () => {
    const pipe = new Pipe();
    const anna = thoughtful('anna');
    const call = pipe.bridge.call(tool, options(anna));
    pipe.ask(1, 'roots/list');
    await settled();
    const why = new EmergentError('mcp_failed', 'over');
    pipe.bridge.close(why);
    await expect(call).rejects.toBe(why);
    expect(anna.request.mock.lastCall?.[1].aborted).toBe(true);
  });
});

describe('what clients tell', () => {
  it('reaches the program unless it is between us and it', async () => {
    const pipe = new Pipe();
    const anna = testClient('anna');
    for (const method of [
      'notifications/initialized',
      'notifications/cancelled',
      'notifications/roots/list_changed',
      'tools/call',
    ]) {
      pipe.bridge.notify({ method }, anna);
    }
    await settled();
    expect(pipe.methods()).toEqual(['notifications/roots/list_changed']);
  });
});
