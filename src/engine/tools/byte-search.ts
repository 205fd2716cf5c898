/** Below this much, searching piece by piece costs more than putting pieces together. */
const batchBytes = 64 * 1024;
/** Matches may be frequent and short: what is between them goes on together, up to about this much. */
const yieldedBytes = 256 * 1024;

/**
 * Content that comes in pieces, searched for a text that may lie across them: hands out what surely holds no part
 * of an unseen match, and keeps the rest for the next piece.
 */
async function* batches(
  content: AsyncIterable<Uint8Array>,
  needle: Buffer,
): AsyncGenerator<{ window: Buffer; last: boolean; keep: (from: number) => void }> {
  const enough = Math.max(batchBytes, 2 * needle.length);
  let pieces: Uint8Array[] = [];
  let held = 0;
  const batch = (last: boolean) => {
    const window = Buffer.concat(pieces);
    return {
      window,
      last,
      keep: (from: number): void => {
        pieces = [window.subarray(from)];
        held = window.length - from;
      },
    };
  };
  for await (const chunk of content) {
    pieces.push(chunk);
    held += chunk.length;
    if (held >= enough) yield batch(false);
  }
  yield batch(true);
}

/**
 * How often the needle occurs, each search beginning `stride` bytes behind the last match: 1 also finds matches
 * that overlap. Stops at `max`.
 */
export async function countMatches(
  content: AsyncIterable<Uint8Array>,
  needle: Buffer,
  stride: number,
  max = Infinity,
): Promise<number> {
  let count = 0;
  for await (const { window, keep } of batches(content, needle)) {
    let from = 0;
    for (let at = window.indexOf(needle); at >= 0; at = window.indexOf(needle, from)) {
      count++;
      if (count >= max) return count;
      from = at + stride;
    }
    keep(Math.min(window.length, Math.max(from, window.length - needle.length + 1)));
  }
  return count;
}

/** The content with every match, from left to right and none overlapping, replaced. */
export async function* replaceMatches(
  content: AsyncIterable<Uint8Array>,
  needle: Buffer,
  replacement: Buffer,
): AsyncGenerator<Uint8Array> {
  for await (const { window, last, keep } of batches(content, needle)) {
    let from = 0;
    let ready: Buffer[] = [];
    let size = 0;
    for (let at = window.indexOf(needle); at >= 0; at = window.indexOf(needle, from)) {
      ready.push(window.subarray(from, at), replacement);
      size += at - from + replacement.length;
      from = at + needle.length;
      if (size < yieldedBytes) continue;
      yield Buffer.concat(ready);
      ready = [];
      size = 0;
    }
    const safe = last ? window.length : Math.max(from, window.length - needle.length + 1);
    ready.push(window.subarray(from, safe));
    if (size + safe > from) yield Buffer.concat(ready);
    keep(safe);
  }
}
