import { expect, test } from 'vitest';
import { serverEvents } from '../../src/cli/http/server-events.ts';

async function read(...chunks: readonly Uint8Array[]): Promise<unknown[]> {
  async function* source(): AsyncGenerator<Uint8Array> {
    yield* chunks;
  }
  return Array.fromAsync(serverEvents(source()));
}

const stream = Buffer.from(
  ': hello\n\nevent: stdout\r\ndata: {"text":"grüß 🙂"}\r\n\r\ndata:a\ndata: b\nid: 7\n\nevent: cut\ndata: off',
);
const events = [
  { event: 'stdout', data: '{"text":"grüß 🙂"}' },
  { event: 'message', data: 'a\nb' },
];

test('events are the same wherever the stream is cut', async () => {
  expect(await read(stream)).toEqual(events);
  for (let cut = 1; cut < stream.length; cut += 1) {
    expect(await read(stream.subarray(0, cut), stream.subarray(cut))).toEqual(events);
  }
  expect(await read(...Array.from(stream, (byte) => Uint8Array.of(byte)))).toEqual(events);
});

test('a line that never ends is refused, not collected', async () => {
  const megabyte = Buffer.alloc(2 ** 20, 'x');
  await expect(read(...Array.from({ length: 20 }, () => megabyte))).rejects.toThrow('too large');
});
