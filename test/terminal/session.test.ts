import { once } from 'node:events';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { OutputEvent } from '../../src/domain/exec.ts';
import { eventually } from '../support/eventually.ts';
import { Session, pingMs, silence } from './support/session.ts';

const piece = new Uint8Array(64 * 1024);

async function* endless(left: AbortSignal): AsyncGenerator<OutputEvent> {
  for (let offset = 0; ; offset += piece.length) {
    left.throwIfAborted();
    yield { type: 'stdout', data: piece, offset };
  }
}

test('who answers pings stays, for hours', async () => {
  await using session = await Session.start(silence);
  const client = new WebSocket(`ws://127.0.0.1:${String(session.port)}`);
  const server = await session.connected;
  for (let hours = 0; hours < 3; hours++) {
    for (let at = 0; at < 3_600_000; at += pingMs) {
      await session.clock.whenSleeping();
      const answered = once(server, 'pong');
      await session.clock.advance(pingMs);
      await answered;
    }
  }
  client.send(Buffer.from('still here'));
  await eventually(() => {
    expect(session.typed).toEqual(['still here']);
  });
  expect(session.left.signal.aborted).toBe(false);
});

test('a dead client is let go after two pings, and its attachment with it', async () => {
  await using session = await Session.start(silence);
  const server = await session.deadClient();
  const closed = once(server, 'close');
  await session.clock.whenSleeping();
  await session.clock.advance(pingMs);
  expect(server.readyState).toBe(server.OPEN);
  await session.clock.whenSleeping();
  await session.clock.advance(pingMs);
  await closed;
  await session.over;
  expect(session.left.signal.aborted).toBe(true);
});

test('of what a dead client does not read, no more than one piece is held', async () => {
  await using session = await Session.start(endless);
  const server = await session.deadClient();
  // The system's own buffers are full when the number of pieces stays the same over many turns of this process.
  let [before, still] = [-1, 0];
  await eventually(() => {
    still = session.taken === before ? still + 1 : 0;
    before = session.taken;
    expect(still).toBeGreaterThan(5);
  });
  expect(server.bufferedAmount).toBeLessThanOrEqual(piece.length + 100);
  const closed = once(server, 'close');
  await session.clock.advance(2 * pingMs);
  await closed;
  await session.over;
});

test('a server that stops does not wait for a client that does not read', async () => {
  await using session = await Session.start(endless);
  const closed = once(await session.deadClient(), 'close');
  session.closing.abort();
  // Its ping and its goodbye.
  await session.clock.whenSleeping(2);
  await session.clock.advance(1_000);
  await closed;
  await session.over;
});
