import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.ts';

const lingerMs = 1_000;
const discardedBytes = 16 * 2 ** 20;

/**
 * Closes a connection on which the client may still be sending. Closing at once would make the kernel reset it,
 * and the client would lose the answer that is on its way; so our half closes first, a bounded amount of what
 * comes is thrown away, and after a second nothing is left.
 */
export function closeLingering(socket: Socket, clock: Clock): void {
  const closed = new AbortController();
  socket.once('close', () => {
    closed.abort();
  });
  // The client may reset the connection from its side; there is nobody left to tell.
  socket.on('error', () => undefined);
  let discarded = 0;
  socket.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > discardedBytes) socket.pause();
  });
  socket.once('end', () => {
    socket.destroy();
  });
  socket.end();
  socket.resume();
  clock.sleep(lingerMs, closed.signal).then(
    () => socket.destroy(),
    () => undefined,
  );
}
