import type { OutputEvent } from '../../domain/exec.ts';
import type { Frame } from './follow.ts';
import { Utf8Chunks } from './utf8-chunks.ts';
import type { OutputChunk } from './utf8-chunks.ts';

type OutputName = 'stdout' | 'stderr';

/**
 * A process's output as frames whose ids a reader can go on from: behind the id N, exactly the first N bytes have
 * been sent. So the beginning of a character is held back only while nothing else comes; before anything else it
 * goes out as it is.
 */
export async function* outputFrames(events: AsyncIterable<OutputEvent>): AsyncGenerator<Frame> {
  const chunks = new Utf8Chunks();
  let name: OutputName = 'stdout';
  let received = 0;
  const rest = (): Frame[] => frames(name, chunks.flush(), received);
  for await (const event of events) {
    switch (event.type) {
      case 'stdout':
      case 'stderr': {
        if (event.type !== name) yield* rest();
        name = event.type;
        received = event.offset;
        const chunk = chunks.push(event.data);
        yield* frames(name, chunk, received - chunks.held);
        break;
      }
      case 'skipped': {
        yield* rest();
        const { bytes, offset } = event;
        yield { event: 'skipped', data: { bytes, offset }, id: offset };
        break;
      }
      case 'exit':
        yield* rest();
        yield { event: 'exit', data: { exit_code: event.exitCode, signal: event.signal } };
    }
  }
  yield* rest();
}

function frames(name: OutputName, chunk: OutputChunk | undefined, offset: number): Frame[] {
  return chunk ? [{ event: name, data: { ...chunk, offset }, id: offset }] : [];
}
