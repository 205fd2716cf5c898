import type { Clock } from '../../base/clock.ts';
import type { ProviderStatus } from '../../domain/provider-status.ts';
import type { CoolingDown } from '../../domain/selection.ts';

const coolDownMs = 30_000;

/** Which providers have failed a create within the last half minute, and why. */
export class CoolDowns {
  readonly #clock: Clock;
  readonly #failed = new Map<string, { readonly reason: string; readonly until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins anew where one runs. */
  start(name: string, reason: string): void {
    this.#failed.set(name, { reason, until: this.#clock.monotonic() + coolDownMs });
  }

  end(name: string): void {
    this.#failed.delete(name);
  }

  of(name: string): CoolingDown | undefined {
    const failed = this.#failed.get(name);
    if (!failed) return undefined;
    const forMs = failed.until - this.#clock.monotonic();
    if (forMs > 0) return { reason: failed.reason, forMs };
    this.#failed.delete(name);
    return undefined;
  }

  /** The same, by the time of day. */
  shown(name: string): ProviderStatus['coolingDown'] {
    const cooling = this.of(name);
    if (!cooling) return null;
    const until = new Date(this.#clock.now().getTime() + cooling.forMs);
    return { until, reason: cooling.reason };
  }
}
