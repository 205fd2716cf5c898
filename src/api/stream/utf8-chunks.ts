import { isUtf8 } from 'node:buffer';

/** A piece of output that JSON can carry without loss. */
export type OutputChunk = { readonly text: string } | { readonly base64: string };

/**
 * Turns a byte stream into pieces of text where it is UTF-8 and base64 where it is not. A character cut in two by
 * a chunk's end is held back and joined with the next chunk. The pieces in order are the stream, byte for byte.
 */
export class Utf8Chunks {
  #held: Buffer = Buffer.alloc(0);

  /** How many bytes are held back. */
  get held(): number {
    return this.#held.length;
  }

  push(data: Uint8Array): OutputChunk | undefined {
    const bytes = Buffer.concat([this.#held, data]);
    const whole = bytes.length - unfinishedBytes(bytes);
    this.#held = bytes.subarray(whole);
    return whole === 0 ? undefined : encode(bytes.subarray(0, whole));
  }

  /** What is still held when the stream has ended: the beginning of a character that never came. */
  flush(): OutputChunk | undefined {
    const rest = this.#held;
    this.#held = Buffer.alloc(0);
    return rest.length === 0 ? undefined : encode(rest);
  }
}

function encode(bytes: Buffer): OutputChunk {
  return isUtf8(bytes) ? { text: bytes.toString('utf8') } : { base64: bytes.toString('base64') };
}

/** How many bytes at the end begin a character without completing it. */
export function unfinishedBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0x80 && byte < 0xc0) continue;
    return sequenceLength(byte) > back ? back : 0;
  }
  return 0;
}

function sequenceLength(lead: number): number {
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xc2 && lead < 0xe0 ? 2 : 1;
}
