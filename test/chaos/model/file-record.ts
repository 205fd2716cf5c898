/** What a write put into a file, or a read found in it. Digests stand for bytes: the model keeps no contents. */
export interface Content {
  readonly digest: string;
  readonly bytes: number;
  /** Its first words, which name the write that it came from. */
  readonly label: string;
}

/** Null: there is no such file. */
export type Found = Content | null;

/**
 * What one file may hold, given the writes that were asked for and those that were acknowledged. Writes to one
 * file are never concurrent, so what is possible is a sequence: the last thing known to be there, and after it
 * every write whose outcome nobody was told.
 */
export class FileRecord {
  #possible: [Found, ...Found[]] = [null];

  attempt(content: Content): void {
    this.#possible.push(content);
  }

  /** The last attempt was answered: from now on the file holds this. */
  acknowledge(content: Content): void {
    this.#possible = [content];
  }

  /** Whether a write to it was ever acknowledged, or seen to have arrived. */
  get certain(): boolean {
    return this.#possible[0] !== null;
  }

  /**
   * Holds what a read found against what is possible; a sentence when it is not. What was seen to have arrived
   * has replaced everything before it.
   */
  observe(found: Found): string | undefined {
    const at = this.#possible.findLastIndex((content) => content?.digest === found?.digest);
    if (at < 0) return `${describe(found)}, where only ${this.#expected()} is possible`;
    this.#possible = [found, ...this.#possible.slice(at + 1)];
    return undefined;
  }

  #expected(): string {
    return this.#possible.map(describe).join(' or ');
  }
}

function describe(content: Found): string {
  if (content === null) return 'no file';
  return `${String(content.bytes)} bytes "${content.label}" (${content.digest.slice(0, 12)})`;
}
