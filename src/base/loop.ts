import type { Clock } from './clock.ts';

/**
 * Calls `work` every `everyMs` until stopped, never twice at a time; the pause is counted from the end of
 * one call to the start of the next, and a function says it anew each time. `work` handles its own failures;
 * one that escapes ends the loop and is handed to `onFailure`.
 */
export function startLoop(
  everyMs: number | (() => number),
  work: (signal: AbortSignal) => Promise<void>,
  clock: Clock,
  onFailure: (error: unknown) => void,
): Disposable {
  const stop = new AbortController();
  const turn = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(typeof everyMs === 'number' ? everyMs : everyMs(), stop.signal);
      await work(stop.signal);
    }
  };
  turn().catch((error: unknown) => {
    if (!stop.signal.aborted) onFailure(error);
  });
  return {
    [Symbol.dispose]() {
      stop.abort(new Error('loop stopped'));
    },
  };
}
