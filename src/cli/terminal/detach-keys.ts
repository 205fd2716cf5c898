const ctrlBracket = 0x1d;
const [tilde, dot, carriageReturn, lineFeed] = [0x7e, 0x2e, 0x0d, 0x0a];

/**
 * Finds the keys that mean us in what is typed: Ctrl-] anywhere, and `~.` at the beginning of a line, where `~~` is
 * one `~`. A `~` there is held back until it is known what follows.
 */
export class DetachKeys {
  #lineStart = true;
  #held = false;

  /** What to pass on, and whether to leave afterwards. */
  take(typed: Uint8Array): { readonly passed: Buffer; readonly detach: boolean } {
    const passed: number[] = [];
    for (const key of typed) {
      if (key === ctrlBracket) return { passed: Buffer.from(passed), detach: true };
      if (this.#held) {
        this.#held = false;
        if (key === dot) return { passed: Buffer.from(passed), detach: true };
        passed.push(tilde);
        this.#lineStart = false;
        if (key === tilde) continue;
      } else if (key === tilde && this.#lineStart) {
        this.#held = true;
        continue;
      }
      passed.push(key);
      this.#lineStart = key === carriageReturn || key === lineFeed;
    }
    return { passed: Buffer.from(passed), detach: false };
  }
}
