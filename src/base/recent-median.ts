const kept = 20;

/** The middle of the last few values, for estimates that are measured and never a constant. */
export class RecentMedian {
  readonly #values: number[] = [];

  add(value: number): void {
    this.#values.push(value);
    if (this.#values.length > kept) this.#values.shift();
  }

  /** Null until there was one. */
  get value(): number | null {
    const sorted = this.#values.toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? null;
  }
}
