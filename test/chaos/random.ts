/** Numbers that look random and are the same for the same seed: a small counter-based generator (32 bits). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A generator of its own for one client or one kind of fault, so that none disturbs another's sequence. */
  fork(label: number): Random {
    return new Random(Math.imul(this.#state ^ Math.imul(label + 1, 0x9e3779b1), 0x85ebca6b));
  }

  /** From 0 up to but not including 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** From `low` up to but not including `high`, whole. */
  integer(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T | undefined {
    return items[this.integer(0, items.length)];
  }

  /** One of the keys, each as often as its weight says. */
  weighted<K extends string>(weights: Partial<Readonly<Record<K, number>>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let rest = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) {
      rest -= weight;
      if (rest < 0) return key;
    }
    throw new Error('there is nothing to choose from');
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    for (let at = 0; at < length; at += 1) bytes[at] = this.integer(0, 256);
    return bytes;
  }
}
