import { EmergentError } from '../../domain/errors.ts';
import type { OutputEvent } from '../../domain/exec.ts';

/**
 * The bytes of both outputs as they came. Plain bytes cannot say that some are missing, so a reader too slow for
 * what is kept, or one that follows while the server closes, has its transfer broken off: none takes a part for
 * the whole.
 */
export async function* outputBytes(
  events: AsyncIterable<OutputEvent>,
  follow: boolean,
): AsyncGenerator<Uint8Array> {
  let ended = false;
  for await (const event of events) {
    switch (event.type) {
      case 'stdout':
      case 'stderr':
        yield event.data;
        break;
      case 'skipped':
        throw new EmergentError(
          'provider_failed',
          `${String(event.bytes)} bytes of output were dropped before they could be sent`,
        );
      case 'exit':
        ended = true;
    }
  }
  if (follow && !ended) throw new EmergentError('shutting_down', 'the server is stopping');
}
