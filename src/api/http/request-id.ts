import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A caller's own id is kept when it is safe in headers and logs; otherwise the request gets a new one. */
export function requestIdOf(raw: Pick<IncomingMessage, 'headers'>): string {
  const given = raw.headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:/+=-]{1,128}$/.test(given) ? given : randomUUID();
}
