const kept = 20;

/** The last start-up times, for an estimate that is measured and never a constant. */
export class StartupTimes {
  readonly #times: number[] = [];

  add(ms: number): void {
    this.#times.push(ms);
    if (this.#times.length > kept) this.#times.shift();
  }

  /** Null until something was measured. */
  get median(): number | null {
    const sorted = this.#times.toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? null;
  }
}
