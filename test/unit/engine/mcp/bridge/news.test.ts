import { describe, expect, it } from 'vitest';
import { options, Pipe, settled, testClient } from './support/pipe.ts';
import type { TestClient } from './support/pipe.ts';

const setLevel = (level: string) => ({ method: 'logging/setLevel', params: { level } });
const subscribe = (uri: string) => ({ method: 'resources/subscribe', params: { uri } });
const unsubscribe = (uri: string) => ({ method: 'resources/unsubscribe', params: { uri } });
const heardBy = (client: TestClient) => client.heard.map(({ method }) => method);

/** Lets the program answer everything that it is asked. */
function obliging(pipe: Pipe, refuse = false): Pipe {
  pipe.onWrite = (text) => {
    for (const line of text.split('\n').filter(Boolean)) {
      const { id } = JSON.parse(line) as { id?: number };
      if (id === undefined) continue;
      if (refuse) pipe.say({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'no' } });
      else pipe.answer(id);
    }
  };
  return pipe;
}

function asked(pipe: Pipe, method: string): readonly unknown[] {
  const found = pipe.read.filter((message) => message.method === method);
  return found.map(({ params }) => params?.['uri'] ?? params?.['level']);
}

describe('news of the program', () => {
  it('reach all who are attached, until they leave', () => {
    const pipe = new Pipe();
    const [anna, bert] = [testClient('anna'), testClient('bert')];
    using _ = pipe.bridge.attach(anna);
    {
      using _bert = pipe.bridge.attach(bert);
      expect(pipe.bridge.clients).toBe(2);
      pipe.notify('notifications/tools/list_changed');
      pipe.notify('notifications/elicitation/complete', { elicitationId: '1' });
      pipe.notify('notifications/of/tomorrow');
    }
    pipe.notify('notifications/prompts/list_changed');
    expect(heardBy(bert)).toEqual([
      'notifications/tools/list_changed',
      'notifications/elicitation/complete',
      'notifications/of/tomorrow',
    ]);
    expect(heardBy(anna)).toHaveLength(4);
    expect(pipe.bridge.clients).toBe(1);
  });

  it('reach the others though one client fails', () => {
    const pipe = new Pipe();
    const broken = testClient('broken', {
      notify: () => {
        throw new Error('broken');
      },
    });
    const anna = testClient('anna');
    using _ = pipe.bridge.attach(broken);
    using _anna = pipe.bridge.attach(anna);
    pipe.notify('notifications/tools/list_changed');
    expect(anna.heard).toHaveLength(1);
  });

  it('count one who is attached twice as one, until both are left', () => {
    const pipe = new Pipe();
    const anna = testClient('anna');
    const first = pipe.bridge.attach(anna);
    const second = pipe.bridge.attach(anna);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    pipe.notify('notifications/tools/list_changed');
    expect(anna.heard).toHaveLength(1);
    second[Symbol.dispose]();
    expect(pipe.bridge.clients).toBe(0);
  });
});

describe('subscriptions', () => {
  it('tell the program of the first and of the last who wants to hear', async () => {
    const pipe = obliging(new Pipe());
    const [anna, bert] = [testClient('anna'), testClient('bert')];
    const annas = pipe.bridge.attach(anna);
    using _ = pipe.bridge.attach(bert);
    expect(await pipe.bridge.call(subscribe('a://x'), options(anna))).toEqual({ result: {} });
    expect(await pipe.bridge.call(subscribe('a://x'), options(bert))).toEqual({ result: {} });
    expect(await pipe.bridge.call(subscribe('a://y'), options(anna))).toEqual({ result: {} });
    expect(asked(pipe, 'resources/subscribe')).toEqual(['a://x', 'a://y']);

    pipe.notify('notifications/resources/updated', { uri: 'a://y' });
    pipe.notify('notifications/resources/updated', { uri: 'a://x/below' });
    pipe.notify('notifications/resources/updated', { uri: 'a://xy' });
    expect(anna.heard.map(({ params }) => params?.['uri'])).toEqual(['a://y', 'a://x/below']);
    expect(bert.heard.map(({ params }) => params?.['uri'])).toEqual(['a://x/below']);

    annas[Symbol.dispose]();
    await settled();
    expect(asked(pipe, 'resources/unsubscribe')).toEqual(['a://y']);
    await pipe.bridge.call(unsubscribe('a://x'), options(bert));
    await pipe.bridge.call(unsubscribe('a://x'), options(bert));
    expect(asked(pipe, 'resources/unsubscribe')).toEqual(['a://y', 'a://x']);
  });

  it('are not held by one whom the program has refused', async () => {
    const pipe = obliging(new Pipe(), true);
    const anna = testClient('anna');
    using _ = pipe.bridge.attach(anna);
    const outcome = await pipe.bridge.call(subscribe('a://x'), options(anna));
    expect(outcome).toEqual({ error: { code: -32_601, message: 'no' } });
    pipe.notify('notifications/resources/updated', { uri: 'a://x' });
    expect(anna.heard).toEqual([]);
    expect(asked(pipe, 'resources/unsubscribe')).toEqual([]);
  });

  it('are given back by one who leaves while the program is being told', async () => {
    const pipe = new Pipe();
    const anna = testClient('anna');
    const annas = pipe.bridge.attach(anna);
    const call = pipe.bridge.call(subscribe('a://x'), options(anna));
    await settled();
    annas[Symbol.dispose]();
    pipe.answer(pipe.last('resources/subscribe').id);
    await call;
    await settled();
    expect(asked(pipe, 'resources/unsubscribe')).toEqual(['a://x']);
  });

  it('are waited for no longer than the client wants', async () => {
    const pipe = new Pipe();
    const anna = testClient('anna');
    using _ = pipe.bridge.attach(anna);
    const call = pipe.bridge.call(subscribe('a://x'), options(anna, { timeoutMs: 100 }));
    const failed = expect(call).rejects.toMatchObject({ code: 'deadline_exceeded' });
    await pipe.clock.advance(100);
    await failed;
  });

  it('mean nothing to one who is not attached', async () => {
    const pipe = new Pipe();
    for (const request of [subscribe('a://x'), setLevel('info')]) {
      const outcome = await pipe.bridge.call(request, options(testClient('anna')));
      expect(outcome).toMatchObject({ error: { code: -32_600 } });
    }
    expect(pipe.read).toEqual([]);
  });
});

describe('log messages', () => {
  const log = (pipe: Pipe, level: string): void => {
    pipe.notify('notifications/message', { level, data: 'x' });
  };
  const levels = (client: TestClient) => client.heard.map(({ params }) => params?.['level']);

  it('reach everybody while nobody has said what they want', () => {
    const pipe = new Pipe();
    const [anna, bert] = [testClient('anna'), testClient('bert')];
    using _ = pipe.bridge.attach(anna);
    using _bert = pipe.bridge.attach(bert);
    log(pipe, 'debug');
    expect([levels(anna), levels(bert)]).toEqual([['debug'], ['debug']]);
  });

  it('reach each by its own level; the program knows the lowest, and hears when it changes', async () => {
    const pipe = obliging(new Pipe());
    const [anna, bert, carl] = [testClient('anna'), testClient('bert'), testClient('carl')];
    const annas = pipe.bridge.attach(anna);
    using _ = pipe.bridge.attach(bert);
    using _carl = pipe.bridge.attach(carl);
    await pipe.bridge.call(setLevel('debug'), options(anna));
    await pipe.bridge.call(setLevel('error'), options(bert));
    for (const level of ['debug', 'info', 'error', 'unheard-of']) log(pipe, level);
    expect(levels(anna)).toEqual(['debug', 'info', 'error', 'unheard-of']);
    expect(levels(bert)).toEqual(['error', 'unheard-of']);
    expect(levels(carl)).toEqual(['info', 'error', 'unheard-of']);
    annas[Symbol.dispose]();
    await settled();
    expect(asked(pipe, 'logging/setLevel')).toEqual(['debug', 'info']);
  });

  it('reach only those with calls in flight, while there are any', () => {
    const pipe = new Pipe();
    const [anna, bert] = [testClient('anna'), testClient('bert')];
    using _ = pipe.bridge.attach(anna);
    using _bert = pipe.bridge.attach(bert);
    void pipe.bridge.call({ method: 'tools/call' }, options(anna));
    log(pipe, 'info');
    expect([levels(anna), levels(bert)]).toEqual([['info'], []]);
  });

  it('keep their level where the program refuses another', async () => {
    const pipe = obliging(new Pipe(), true);
    const anna = testClient('anna');
    using _ = pipe.bridge.attach(anna);
    expect(await pipe.bridge.call(setLevel('error'), options(anna))).toMatchObject({
      error: { code: -32_601 },
    });
    log(pipe, 'debug');
    expect(levels(anna)).toEqual(['debug']);
  });

  it('have eight levels', async () => {
    const pipe = new Pipe();
    const anna = testClient('anna');
    using _ = pipe.bridge.attach(anna);
    expect(await pipe.bridge.call(setLevel('loud'), options(anna))).toMatchObject({
      error: { code: -32_602 },
    });
  });
});
