import type { Clock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import type { Log } from '../../base/log.ts';
import { startLoop } from '../../base/loop.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ProviderHealth, WorkspaceProvider } from '../../domain/provider.ts';

/** What a provider last said of itself, and when. */
export interface HealthReport {
  readonly health: ProviderHealth;
  readonly at: Date;
}

export interface HealthMonitorOptions {
  readonly providers: readonly WorkspaceProvider[];
  /** Hears every report, with the one before it; must not fail. */
  readonly onReport: (name: string, report: HealthReport, before?: HealthReport) => void;
  readonly clock: Clock;
  readonly log: Log;
  /** From 0 up to 1. */
  readonly random: () => number;
}

const everyMs = 30_000;
/** Keeps the servers of an installation, and the providers of one engine, from asking all at the same moment. */
const jitter = 0.1;
/** Longer than a provider may try what it has never tried; whatever it asks has shorter ones of its own. */
const probeDeadlineMs = 20_000;

/**
 * Asks each provider for its health, at once and then every half minute, for as long as the server runs: each on its
 * own, so that one that hangs delays no other. The last answer is kept. A probe is shared by all who ask while it
 * runs, so there is never more than one of a provider.
 */
export class HealthMonitor implements AsyncDisposable {
  readonly #options: HealthMonitorOptions;
  readonly #last = new Map<string, HealthReport>();
  readonly #running = new Map<string, Promise<HealthReport>>();
  readonly #stop = new AbortController();
  #loops: readonly Disposable[] | undefined;

  constructor(options: HealthMonitorOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loops ??= this.#options.providers.map((provider) => this.#watch(provider));
  }

  last(name: string): HealthReport | undefined {
    return this.#last.get(name);
  }

  /** A fresh report; one that could not be got is unhealthy with the reason. Fails only when the server stops. */
  probe(provider: WorkspaceProvider): Promise<HealthReport> {
    const { name } = provider;
    const running = this.#running.get(name);
    if (running) return running;
    const started = this.#ask(provider).finally(() => this.#running.delete(name));
    this.#running.set(name, started);
    return started;
  }

  /** The same for nobody in particular. */
  probeSoon(provider: WorkspaceProvider): void {
    this.probe(provider).catch(() => undefined);
  }

  /** Nothing is reported from here on. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const loop of this.#loops ?? []) loop[Symbol.dispose]();
    this.#stop.abort(new EmergentError('shutting_down', 'the server is stopping'));
    await Promise.allSettled(this.#running.values());
  }

  /** Counted from start to start, so that a slow probe is not also a rare one. */
  #watch(provider: WorkspaceProvider): Disposable {
    const { clock, log, random } = this.#options;
    let startedAt = clock.monotonic();
    const pause = (): number => {
      const period = everyMs * (1 + jitter * (2 * random() - 1));
      return Math.max(0, startedAt + period - clock.monotonic());
    };
    this.probeSoon(provider);
    return startLoop(
      pause,
      async () => {
        startedAt = clock.monotonic();
        await this.probe(provider);
      },
      clock,
      (error) => {
        log.error('the health monitor has ended', { provider: provider.name, err: error });
      },
    );
  }

  async #ask(provider: WorkspaceProvider): Promise<HealthReport> {
    const { clock, onReport } = this.#options;
    const { name } = provider;
    const { signal: stop } = this.#stop;
    stop.throwIfAborted();
    const health = await healthOf(provider, stop);
    stop.throwIfAborted();
    const before = this.#last.get(name);
    const report = { health, at: clock.now() };
    this.#last.set(name, report);
    onReport(name, report, before);
    return report;
  }
}

async function healthOf(provider: WorkspaceProvider, stop: AbortSignal): Promise<ProviderHealth> {
  const what = `health of ${provider.name}`;
  try {
    return await withDeadline(what, probeDeadlineMs, (signal) => provider.health(signal), stop);
  } catch (error) {
    return {
      state: 'unhealthy',
      reason: reasonOf(error),
      remedy: 'Run `emergent doctor` on the host.',
      details: {},
    };
  }
}
