import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import { systemCode } from '../../base/system-code.ts';
import { EmergentError } from '../../domain/errors.ts';

const dialMs = 10_000;

/** A port on the host's loopback address, which is where commands without a network of their own listen. */
export async function dialHost(port: number, signal: AbortSignal): Promise<Duplex> {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new EmergentError('invalid_value', `${String(port)} is not a port`);
  }
  const doing = `connecting to port ${String(port)}`;
  try {
    return await withDeadline(
      doing,
      dialMs,
      (inner) => dial('127.0.0.1', port, inner).catch(() => dial('::1', port, inner)),
      signal,
    );
  } catch (error) {
    signal.throwIfAborted();
    if (!['ECONNREFUSED', 'EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(systemCode(error))) {
      throw new EmergentError('provider_failed', `${doing}: ${reasonOf(error)}`, { cause: error });
    }
    throw new EmergentError('port_closed', `nothing listens on port ${String(port)}`, {
      cause: error,
    });
  }
}

function dial(host: string, port: number, signal: AbortSignal): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
  const giveUp = (): void => {
    socket.destroy();
    reject(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));
  };
  signal.addEventListener('abort', giveUp, { once: true });
  socket.once('connect', () => {
    signal.removeEventListener('abort', giveUp);
    socket.off('error', reject);
    // Whoever uses it is told by its own listeners.
    socket.on('error', () => undefined);
    resolve(socket);
  });
  socket.once('error', reject);
  return promise;
}
