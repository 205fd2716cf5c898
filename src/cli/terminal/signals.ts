export const passedOnSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
export type PassedOnSignal = (typeof passedOnSignals)[number];

/** Hands the signals sent to this process to `listener` until disposed; then they end the process again. */
export function onSignals(listener: (signal: PassedOnSignal) => void): Disposable {
  for (const name of passedOnSignals) process.on(name, listener);
  return {
    [Symbol.dispose]() {
      for (const name of passedOnSignals) process.off(name, listener);
    },
  };
}
