import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Inbox } from '../../../../../src/engine/mcp/bridge/inbox.ts';

function take(pieces: readonly Uint8Array[]): string {
  const taken: unknown[] = [];
  const inbox = new Inbox({
    onMessage: (message) => taken.push(message),
    onTooLarge: (id) => taken.push(['too large', id]),
    onStray: (line) => taken.push(['stray', line]),
  });
  for (const piece of pieces) inbox.feed(piece);
  return JSON.stringify(taken);
}

it('takes the same messages out of a stream whatever the pieces in which it comes', () => {
  const text = fc.constantFrom('plain', 'é', '😀', '"quoted"', 'two\nlines');
  const message = fc.oneof(
    fc.record({ jsonrpc: fc.constant('2.0'), id: fc.nat(), result: fc.record({ text }) }),
    fc.record({ jsonrpc: fc.constant('2.0'), id: fc.nat(), method: text }),
    fc.record({ jsonrpc: fc.constant('2.0'), method: text, params: fc.record({ text }) }),
    text,
  );
  const line = fc
    .tuple(message, fc.constantFrom('\n', '\r\n', '\n\n'))
    .map(([each, end]) => `${JSON.stringify(each)}${end}`);
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.array(fc.nat()), (lines, places) => {
      const bytes = Buffer.from(lines.join(''));
      const cuts = places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b);
      const pieces = [...cuts, bytes.length].map((end, at) => bytes.subarray(cuts[at - 1], end));
      return take(pieces) === take([bytes]);
    }),
  );
});

it('sees requests, notifications, results and errors', () => {
  const lines = [
    '{"jsonrpc":"2.0","id":"a","method":"m","params":{}}',
    '{"jsonrpc":"2.0","method":"n"}',
    '{"jsonrpc":"2.0","id":1,"result":{"x":1}}',
    '{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}',
  ];
  expect(JSON.parse(take([Buffer.from(`${lines.join('\n')}\n`)]))).toEqual([
    { kind: 'request', id: 'a', request: { method: 'm', params: {} } },
    { kind: 'notification', notification: { method: 'n' } },
    { kind: 'answer', id: 1, outcome: { result: { x: 1 } } },
    { kind: 'answer', id: 2, outcome: { error: { code: -1, message: 'no' } } },
  ]);
});
