/** Raised when an external call did not finish in time; `what` names the call for the reader. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
  readonly what: string;
  readonly ms: number;

  constructor(what: string, ms: number, missed = 'did not finish within') {
    super(`${what} ${missed} ${String(ms)} ms`);
    this.what = what;
    this.ms = ms;
  }
}

/**
 * Runs `work` with a signal that aborts after `ms` (or when `outer` aborts), and stops waiting then even
 * if the work ignores its signal. The result of work that finishes too late is dropped.
 */
export function withDeadline<T>(
  what: string,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  return withRenewedDeadline(what, ms, (signal) => work(signal), outer);
}

/** The same, but the time begins anew whenever the work says that it gets on; `renew` may give it another time. */
export async function withRenewedDeadline<T>(
  what: string,
  ms: number,
  work: (signal: AbortSignal, renew: (nextMs?: number) => void) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  const controller = new AbortController();
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  controller.signal.addEventListener(
    'abort',
    () => {
      aborted.reject(controller.signal.reason as Error);
    },
    { once: true },
  );
  const onOuter = (): void => {
    controller.abort(outer?.reason);
  };
  if (outer?.aborted) onOuter();
  outer?.addEventListener('abort', onOuter, { once: true });
  let timer = setTimeout(() => {
    controller.abort(new DeadlineError(what, ms));
  }, ms);
  const renew = (nextMs = ms): void => {
    clearTimeout(timer);
    if (settled) return;
    timer = setTimeout(() => {
      controller.abort(new DeadlineError(what, nextMs, 'made no progress for'));
    }, nextMs);
  };
  let settled = false;
  try {
    const running = work(controller.signal, renew);
    running.catch(() => undefined);
    return await Promise.race([running, aborted.promise]);
  } finally {
    settled = true;
    clearTimeout(timer);
    outer?.removeEventListener('abort', onOuter);
  }
}
