import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { ListenOptions, Server } from 'node:net';
import { systemCode } from '../../src/base/system-code.ts';

/** Below those that Linux gives out by itself, so that no connection and no `listen(0)` takes one meanwhile. */
const ports = { first: 15_000, last: 32_767 };

/**
 * A loopback port that nothing listens on, for a program that binds it later, and again after a restart. No other
 * test is given it while this process lives.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(ports.first, ports.last + 1);
    const claim = await listening({ path: `\0emergent-test-port-${String(port)}` });
    if (!claim) continue;
    claim.unref();
    const trial = await listening({ host: '127.0.0.1', port });
    if (!trial) continue;
    trial.close();
    await once(trial, 'close');
    return port;
  }
}

/** Undefined where somebody else listens. */
async function listening(options: ListenOptions): Promise<Server | undefined> {
  const server = createServer();
  try {
    server.listen(options);
    await once(server, 'listening');
    return server;
  } catch (error) {
    if (systemCode(error) === 'EADDRINUSE') return undefined;
    throw error;
  }
}
