import { vi } from 'vitest';

/** The first answer of `check` that is none of its failures. Gives up late: a loaded machine may take its time. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 30_000 });
}
