import type { Duplex } from 'node:stream';
import { abortReason } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';

/** Opens a byte stream to the agent inside one sandbox. */
export type Dial = (signal: AbortSignal) => Promise<Duplex>;

const dialDeadlineMs = 15_000;

/**
 * Dials, then makes of the stream what it is for, all within one deadline. A stream that comes when nobody waits
 * any more is ended: it would stay open for ever.
 */
export async function dialled<T>(
  dial: Dial,
  use: (stream: Duplex, signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  try {
    return await withDeadline('connecting to the sandbox agent', dialDeadlineMs, async (signal) => {
      const stream = await dial(signal);
      // Its user is told by its own means, while it uses it. An error that comes before, after or in between, such
      // as that of being destroyed, must not become an uncaught one.
      stream.on('error', () => undefined);
      if (signal.aborted) {
        stream.destroy();
        throw abortReason(signal);
      }
      return use(stream, signal);
    });
  } catch (error) {
    throw error instanceof EmergentError
      ? error
      : new EmergentError('sandbox_unreachable', reasonOf(error), { cause: error });
  }
}
