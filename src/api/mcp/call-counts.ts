/** How many tools were called through this server since it started, by what came of it. */
export class McpCallCounts {
  readonly #counts = new Map<string, number>();

  count(result: string): void {
    this.#counts.set(result, (this.#counts.get(result) ?? 0) + 1);
  }

  get all(): ReadonlyMap<string, number> {
    return this.#counts;
  }
}
