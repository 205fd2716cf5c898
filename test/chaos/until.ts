import { systemClock as clock } from '../../src/base/clock.ts';

const lookEveryMs = 100;

/** How long it took until this was so, in milliseconds; undefined: it was not within the time. */
export async function until(
  isSo: () => Promise<boolean>,
  withinMs: number,
  signal?: AbortSignal,
): Promise<number | undefined> {
  const startedAt = clock.monotonic();
  for (;;) {
    const so = await isSo();
    const passed = clock.monotonic() - startedAt;
    if (so) return passed;
    if (passed > withinMs || signal?.aborted) return undefined;
    await clock.sleep(lookEveryMs);
  }
}
