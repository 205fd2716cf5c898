import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EmergentError } from '../../../../../src/domain/errors.ts';
import { options, Pipe, settled, testClient } from './support/pipe.ts';

const anna = testClient('anna');
const tooLong = 10 * 1024 * 1024 + 1;

describe('a program that writes what it likes', () => {
  it('has its stray lines counted and handed on, cut', () => {
    const pipe = new Pipe();
    const long = 'x'.repeat(5_000);
    pipe.print(`Listening on stdio\n\n  \r\n{"level":"info"}\n[]\n[1]\n"text"\n{]\n${long}\n`);
    pipe.print('{"jsonrpc":"2.0"}\n{"jsonrpc":"2.0","id":{},"result":{}}\n');
    pipe.print('{"jsonrpc":"2.0","method":5}\n{"jsonrpc":"2.0","method":"a","params":[]}\n');
    expect(pipe.stray).toHaveLength(11);
    expect(pipe.bridge.strayLines).toBe(11);
    expect(pipe.stray[0]).toBe('Listening on stdio');
    expect(pipe.stray[6]).toHaveLength(2_048);
    expect(pipe.bridge.lastHeardAt).toBeNull();
  });

  it('may send several messages in one line', async () => {
    const pipe = new Pipe();
    const calls = ['a', 'b'].map((method) => pipe.bridge.call({ method }, options(anna)));
    await settled();
    const answers = pipe.read.map(({ id }) => ({ jsonrpc: '2.0', id, result: { id } }));
    pipe.say([...answers, 'nonsense', { jsonrpc: '2.0', method: 'notifications/x' }]);
    expect(await Promise.all(calls)).toEqual(answers.map(({ result }) => ({ result })));
    expect(pipe.bridge.lastHeardAt).toEqual(pipe.clock.now());
  });

  it('hurts nobody, whatever it is', () => {
    const pipe = new Pipe();
    using _ = pipe.bridge.attach(anna);
    const message = fc.record(
      {
        jsonrpc: fc.constant('2.0'),
        id: fc.anything(),
        method: fc.oneof(
          fc.constantFrom('notifications/progress', 'notifications/cancelled', 'roots/list'),
          fc.constantFrom('notifications/message', 'notifications/resources/updated', '__proto__'),
          fc.anything(),
        ),
        params: fc.anything(),
        result: fc.anything(),
        error: fc.anything(),
      },
      { requiredKeys: ['jsonrpc'] },
    );
    const line = fc.oneof(
      message.map((value) => Buffer.from(JSON.stringify(value) + '\n')),
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    );
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        for (const each of lines) pipe.bridge.feed(each);
      }),
    );
  });

  it('changes no object of ours', async () => {
    const pipe = new Pipe();
    const call = pipe.bridge.call({ method: 'a' }, options(anna));
    await settled();
    const id = String(pipe.last('a').id);
    pipe.print(`{"jsonrpc":"2.0","id":${id},"result":{"__proto__":{"polluted":1}}}\n`);
    pipe.print(
      '{"jsonrpc":"2.0","method":"notifications/x","params":{"__proto__":{"polluted":1}}}\n',
    );
    await call;
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('fails only the call that it answers with neither result nor error', async () => {
    const pipe = new Pipe();
    const call = pipe.bridge.call({ method: 'a' }, options(anna));
    await settled();
    pipe.answer(pipe.last('a').id, 'done');
    await expect(call).rejects.toMatchObject({ code: 'mcp_failed' });
  });

  it('may nest as deep as it likes', async () => {
    const pipe = new Pipe();
    const call = pipe.bridge.call({ method: 'a' }, options(anna, { timeoutMs: 1_000 }));
    await settled();
    pipe.print('['.repeat(1_000_000) + '\n');
    pipe.answer(pipe.last('a').id);
    expect(await call).toEqual({ result: {} });
  });

  it('is no longer listened to once the bridge is closed', () => {
    const pipe = new Pipe();
    pipe.bridge.close(new EmergentError('mcp_failed', 'over'));
    pipe.print('late\n');
    expect(pipe.stray).toEqual([]);
  });
});

describe('a message that is too large', () => {
  it.each([
    [
      'begins',
      (id: number, text: string) => `{"jsonrpc":"2.0","id":${String(id)},"result":{"t":"${text}"}}`,
    ],
    [
      'ends',
      (id: number, text: string) => `{"result":{"t":"${text}"},"jsonrpc":"2.0","id":${String(id)}}`,
    ],
    [
      'ends',
      (id: number, text: string) =>
        `{"result":{"t":"${text}"},"id":"${String(id)}","jsonrpc":"2.0"}`,
    ],
  ])('fails the call that it %s with', async (_, message) => {
    const pipe = new Pipe();
    const [first, second] = [
      pipe.bridge.call({ method: 'a' }, options(anna)),
      pipe.bridge.call({ method: 'b' }, options(anna)),
    ];
    await settled();
    pipe.print(`${message(pipe.last('a').id ?? 0, 'x'.repeat(tooLong))}\n`);
    await expect(first).rejects.toMatchObject({ code: 'message_too_large' });
    expect(pipe.bridge.strayLines).toBe(1);
    pipe.answer(pipe.last('b').id);
    expect(await second).toEqual({ result: {} });
  });

  it('fails the only call in flight where nothing else says which', async () => {
    const pipe = new Pipe();
    const call = pipe.bridge.call({ method: 'a' }, options(anna));
    await settled();
    pipe.print(`{"result":{"inner":{"id":5}},"t":"${'x'.repeat(tooLong)}","v":{"id":5}}\n`);
    await expect(call).rejects.toMatchObject({ code: 'message_too_large' });
    expect(pipe.bridge.lateAnswers).toBe(0);
  });

  it('leaves all to their timeouts where several are in flight', async () => {
    const pipe = new Pipe();
    void pipe.bridge.call({ method: 'a' }, options(anna));
    void pipe.bridge.call({ method: 'b' }, options(anna));
    await settled();
    pipe.print(`${'x'.repeat(tooLong)}\n`);
    expect(pipe.bridge.inFlight).toBe(2);
  });

  it('passes at ten million bytes', async () => {
    const pipe = new Pipe();
    const call = pipe.bridge.call({ method: 'a' }, options(anna));
    await settled();
    pipe.answer(pipe.last('a').id, { text: 'x'.repeat(10_000_000) });
    expect(await call).toHaveProperty('result.text');
  });
});

describe('output that was lost', () => {
  it('costs the lines it was part of, and no other', async () => {
    const pipe = new Pipe();
    const call = pipe.bridge.call({ method: 'a' }, options(anna));
    await settled();
    pipe.print('{"jsonrpc":"2.0","id":1,"resu');
    pipe.bridge.skipped(4_711);
    pipe.print('t":"lost"}}\n');
    pipe.answer(pipe.last('a').id);
    expect(await call).toEqual({ result: {} });
    expect(pipe.stray).toEqual(['{"jsonrpc":"2.0","id":1,"resu', 't":"lost"}}']);
  });
});
