import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';

import { rejectOnAbort } from '../run.ts';

/**
 * One set-up at a time per user. The lock is an abstract socket: the kernel frees it when its holder dies, and
 * whoever waits is connected to it and learns of that at once.
 */
export async function lockSetup(
  onWait: () => void,
  signal: AbortSignal,
  name = `emergent-setup-${String(process.getuid?.() ?? 0)}`,
): Promise<AsyncDisposable> {
  for (;;) {
    signal.throwIfAborted();
    const held = await tryLock(`\0${name}`);
    if (held) return held;
    onWait();
    await untilFreed(`\0${name}`, signal);
  }
}

async function tryLock(path: string): Promise<AsyncDisposable | undefined> {
  const waiting = new Set<Socket>();
  const server = createServer((socket) => {
    waiting.add(socket.on('error', () => undefined));
  });
  try {
    server.listen(path);
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
  server.unref();
  return {
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of waiting) socket.destroy();
      await once(server, 'close');
    },
  };
}

/** A connection that fails is over too: the lock was freed while we connected. */
async function untilFreed(path: string, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = connect(path).on('error', () => undefined);
  socket.once('close', () => {
    resolve();
  });
  try {
    await Promise.race([promise, rejectOnAbort(signal)]);
  } finally {
    socket.destroy();
  }
}
