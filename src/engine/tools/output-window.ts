/**
 * Keeps the head and the tail of a byte stream within a fixed size and counts the rest, so a command that
 * prints 100 MB costs the server 50 KB.
 */
export class OutputWindow {
  readonly #half: number;
  /** Copies, so that a kept piece does not hold on to the whole buffer it came in. */
  #head: Buffer | undefined;
  /** A ring: the byte that comes n bytes after the head is at n modulo its length. */
  #tail: Buffer | undefined;
  #total = 0;

  constructor(keptBytes: number) {
    this.#half = Math.floor(keptBytes / 2);
  }

  get totalBytes(): number {
    return this.#total;
  }

  get truncated(): boolean {
    return this.#total > this.#half * 2;
  }

  push(chunk: Uint8Array): void {
    const forHead = chunk.subarray(0, Math.max(0, this.#half - this.#total));
    if (forHead.length > 0) {
      this.#head ??= Buffer.allocUnsafeSlow(this.#half);
      this.#head.set(forHead, this.#total);
    }
    this.#total += chunk.length;
    this.#pushTail(chunk.subarray(forHead.length));
  }

  /** The kept bytes as text, with the cut named where there is one. */
  text(): string {
    const head = this.#head?.subarray(0, this.#total) ?? Buffer.alloc(0);
    const tail = this.#tailBytes();
    if (!this.truncated) return Buffer.concat([head, tail]).toString('utf8');
    const first = head.subarray(0, wholeCharacters(head));
    const last = tail.subarray(splitCharacter(tail));
    const cut = this.#total - first.length - last.length;
    return `${first.toString('utf8')}\n[… ${String(cut)} bytes left out …]\n${last.toString('utf8')}`;
  }

  #pushTail(bytes: Uint8Array): void {
    const kept = bytes.subarray(Math.max(0, bytes.length - this.#half));
    if (kept.length === 0) return;
    this.#tail ??= Buffer.allocUnsafeSlow(this.#half);
    const at = (this.#total - this.#half - kept.length) % this.#half;
    const upToEnd = kept.subarray(0, this.#half - at);
    this.#tail.set(upToEnd, at);
    this.#tail.set(kept.subarray(upToEnd.length), 0);
  }

  #tailBytes(): Buffer {
    const ring = this.#tail ?? Buffer.alloc(0);
    const came = this.#total - this.#half;
    if (came <= ring.length) return ring.subarray(0, Math.max(0, came));
    const oldest = came % this.#half;
    return Buffer.concat([ring.subarray(oldest), ring.subarray(0, oldest)]);
  }
}

/** How many bytes to show of a head so that it does not end within a UTF-8 character. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    if (byte >= 0xc0) {
      const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return needed > back ? bytes.length - back : bytes.length;
    }
  }
  return bytes.length;
}

/** How many bytes at the start of a tail are the rest of a UTF-8 character. */
function splitCharacter(bytes: Buffer): number {
  let start = 0;
  while (start < 3 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return start;
}
