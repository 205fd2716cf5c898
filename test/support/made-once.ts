import { existsSync } from 'node:fs';
import { lockSetup } from '../../src/host/setup/lock.ts';

export interface MadeOnceOptions {
  /** Taken by whoever makes it; the others wait. */
  readonly lock: string;
  readonly patienceMs: number;
}

/** `make` is called by the first on this machine who finds nothing at `path`; what it makes must appear there whole. */
export async function madeOnce(
  path: string,
  { lock, patienceMs }: MadeOnceOptions,
  make: () => Promise<void>,
): Promise<void> {
  if (existsSync(path)) return;
  await using _lock = await lockSetup(() => undefined, AbortSignal.timeout(patienceMs), lock);
  if (!existsSync(path)) await make();
}
