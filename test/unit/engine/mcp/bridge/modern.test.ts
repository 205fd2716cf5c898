import { describe, expect, it } from 'vitest';
import type { McpIntroduction } from '../../../../../src/domain/mcp.ts';
import { metaKeys } from '../../../../../src/engine/mcp/bridge/envelope.ts';
import { options, Pipe, settled, testClient } from './support/pipe.ts';

const introduction: McpIntroduction = {
  protocolVersion: '2026-07-28',
  serverInfo: { name: 'test', version: '1' },
  capabilities: { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true } },
  instructions: null,
};
const listen = 'subscriptions/listen';
const subscribe = { method: 'resources/subscribe', params: { uri: 'a://x' } };
const changed = 'notifications/tools/list_changed';

function under(id: number | undefined): { readonly _meta: Record<string, unknown> } {
  return { _meta: { [metaKeys.subscriptionId]: id } };
}

function acknowledge(pipe: Pipe): number | undefined {
  const { id } = pipe.last(listen);
  pipe.notify('notifications/subscriptions/acknowledged', under(id));
  return id;
}

function cancelled(pipe: Pipe): readonly unknown[] {
  const found = pipe.read.filter(({ method }) => method === 'notifications/cancelled');
  return found.map(({ params }) => params?.['requestId']);
}

describe('listening to a program of the newer revision', () => {
  it('begins with the first who is attached and ends with the last', async () => {
    const pipe = new Pipe({ introduction });
    const anna = testClient('anna');
    const annas = pipe.bridge.attach(anna);
    const berts = pipe.bridge.attach(testClient('bert'));
    await settled();
    expect(pipe.methods()).toEqual([listen]);
    expect(pipe.last(listen).params).toMatchObject({
      notifications: { toolsListChanged: true },
      _meta: { [metaKeys.protocolVersion]: '2026-07-28' },
    });
    const id = acknowledge(pipe);
    pipe.notify(changed, under(id));
    pipe.notify(changed, under(4711));
    expect(anna.heard).toEqual([{ method: changed, params: { _meta: {} } }]);
    annas[Symbol.dispose]();
    berts[Symbol.dispose]();
    await settled();
    expect(cancelled(pipe)).toEqual([id]);
    expect(pipe.clock.sleeping).toBe(0);
  });

  it('is begun anew for another resource, and nothing is missed or heard twice', async () => {
    const pipe = new Pipe({ introduction });
    const anna = testClient('anna');
    using _ = pipe.bridge.attach(anna);
    await settled();
    const before = acknowledge(pipe);
    const call = pipe.bridge.call(subscribe, options(anna));
    await settled();
    const { id: after, params } = pipe.last(listen);
    expect(params).toMatchObject({ notifications: { resourceSubscriptions: ['a://x'] } });
    expect(cancelled(pipe)).toEqual([]);
    pipe.notify(changed, under(before));
    acknowledge(pipe);
    pipe.notify(changed, under(before));
    pipe.notify(changed, under(after));
    expect(await call).toEqual({ result: {} });
    await settled();
    expect(cancelled(pipe)).toEqual([before]);
    expect(anna.heard).toHaveLength(2);
  });

  it('follows what has changed while the program was asked', async () => {
    const pipe = new Pipe({ introduction });
    const anna = testClient('anna');
    const annas = pipe.bridge.attach(anna);
    await settled();
    annas[Symbol.dispose]();
    await settled();
    expect(cancelled(pipe)).toEqual([]);
    const id = acknowledge(pipe);
    await settled();
    expect(cancelled(pipe)).toEqual([id]);
  });

  it.each(['refused', 'not acknowledged'])(
    'fails who subscribes where it is %s, and is asked for again by the next',
    async (how) => {
      const pipe = new Pipe({ introduction });
      const anna = testClient('anna');
      using _ = pipe.bridge.attach(anna);
      await settled();
      acknowledge(pipe);
      const call = pipe.bridge.call(subscribe, options(anna));
      await settled();
      const { id } = pipe.last(listen);
      const error = { code: -32_603, message: 'limit reached' };
      if (how === 'refused') pipe.say({ jsonrpc: '2.0', id, error });
      else await pipe.clock.advance(30_000);
      expect(await call).toMatchObject({ error: { code: -32_601 } });
      expect(pipe.bridge.lateAnswers).toBe(0);
      const again = pipe.bridge.call(subscribe, options(anna));
      await settled();
      acknowledge(pipe);
      expect(await again).toEqual({ result: {} });
    },
  );

  it('is over when the program says so', async () => {
    const pipe = new Pipe({ introduction });
    const anna = testClient('anna');
    using _ = pipe.bridge.attach(anna);
    await settled();
    const id = acknowledge(pipe);
    pipe.answer(id, { resultType: 'complete' });
    pipe.notify(changed, under(id));
    await settled();
    expect(anna.heard).toEqual([]);
    expect(pipe.bridge.lateAnswers).toBe(0);
    expect(pipe.methods()).toEqual([listen]);
  });
});

describe('the envelope', () => {
  const given = {
    [metaKeys.protocolVersion]: '2026-07-28',
    [metaKeys.clientInfo]: { name: 'their', version: '1' },
    [metaKeys.clientCapabilities]: { sampling: {} },
    custom: 1,
  };

  it('carries what the client can, and what it wants to be logged', async () => {
    const pipe = new Pipe({ introduction });
    const anna = testClient('anna', { capabilities: { roots: {} } });
    using _ = pipe.bridge.attach(anna);
    const setLevel = { method: 'logging/setLevel', params: { level: 'error' } };
    expect(await pipe.bridge.call(setLevel, options(anna))).toEqual({ result: {} });
    void pipe.bridge.call({ method: 'tools/call', params: { _meta: given } }, options(anna));
    void pipe.bridge.call({ method: 'tools/list' }, options(testClient('bert')));
    await settled();
    expect(pipe.last('tools/call').params).toEqual({
      _meta: {
        ...given,
        [metaKeys.clientCapabilities]: { roots: {} },
        [metaKeys.logLevel]: 'error',
      },
    });
    expect(pipe.last('tools/list').params).toMatchObject({
      _meta: { [metaKeys.clientInfo]: { name: 'emergent' }, [metaKeys.clientCapabilities]: {} },
    });
    expect(pipe.methods()).not.toContain('logging/setLevel');
  });

  it('is taken off for a program of an older revision', async () => {
    const pipe = new Pipe();
    const request = { method: 'tools/call', params: { name: 'x', _meta: given } };
    void pipe.bridge.call(request, options(testClient('anna')));
    await settled();
    expect(pipe.last('tools/call').params).toEqual({ name: 'x', _meta: { custom: 1 } });
  });
});
