import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { EmergentError } from '../../domain/errors.ts';
import { sendContinue } from './expect-continue.ts';
import { Patience } from './patience.ts';

export interface BodyLimits {
  readonly maxBytes: number;
  /** The longest wait for the next bytes. */
  readonly stallMs: number;
  /** The longest time for the whole body; unbounded when left out. */
  readonly totalMs?: number;
}

/**
 * The request's body, chunk by chunk and no faster than it is taken. Ends early with an EmergentError when the
 * body is too large, too slow or cut off; the connection stays usable for the answer.
 */
export async function* readBody(
  raw: IncomingMessage,
  limits: BodyLimits,
  clock: Clock,
): AsyncGenerator<Buffer> {
  refuseEncoded(raw);
  if (Number(raw.headers['content-length'] ?? 0) > limits.maxBytes) throw tooLarge(limits.maxBytes);
  sendContinue(raw);
  const chunks = raw.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined>;
  using patience = new Patience(limits, clock);
  let received = 0;
  try {
    for (;;) {
      const next = await patience.until(chunks.next());
      if (next.done === true) return;
      received += next.value.length;
      if (received > limits.maxBytes) throw tooLarge(limits.maxBytes);
      yield next.value;
    }
  } catch (error) {
    throw isCutOff(error) ? cutOff(error) : error;
  } finally {
    // Not awaited: it waits for a chunk that a stalled client never sends.
    void chunks.return?.();
  }
}

function refuseEncoded(raw: IncomingMessage): void {
  const encoding = raw.headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return;
  throw new EmergentError(
    'unsupported_media_type',
    `the body has the Content-Encoding ${encoding}`,
    {
      hint: 'Send the body without a Content-Encoding.',
    },
  );
}

function tooLarge(maxBytes: number): EmergentError {
  return new EmergentError('body_too_large', `the body is larger than ${String(maxBytes)} bytes`, {
    details: { max_bytes: maxBytes },
  });
}

/** Node's error when the connection ends in the middle of a body. */
function isCutOff(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
}

function cutOff(cause: unknown): EmergentError {
  return new EmergentError('client_closed', 'the connection ended in the middle of the body', {
    cause,
  });
}
