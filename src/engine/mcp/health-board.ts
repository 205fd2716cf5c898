import { Bell } from '../../base/bell.ts';
import type { Clock } from '../../base/clock.ts';
import type { McpHealth, McpHealthState } from '../../domain/mcp.ts';

/** What is told of a server now: only what its supervisor knows at once. */
export type Told = Pick<McpHealth, 'state' | 'reason' | 'nextStartAt'>;

/** A wait for the next start that is no longer than this is a start for whoever calls. */
const soonMs = 3_000;
const lookAgainMs = 1_000;

/** How a server is now; whoever needs it otherwise can wait for that. */
export class HealthBoard {
  readonly #clock: Clock;
  readonly #changes = new Bell();
  #told: Told = { state: 'starting', reason: null, nextStartAt: null };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get told(): Told {
    return this.#told;
  }

  tell(state: McpHealthState, reason: string | null = null, nextStartAt: Date | null = null): void {
    this.#told = { state, reason, nextStartAt };
    this.#changes.ring();
  }

  /** What it is like when it no longer is starting, or about to; or now if that takes longer than `ms`. */
  async settled(ms: number, signal: AbortSignal): Promise<Told> {
    const until = this.#clock.monotonic() + ms;
    for (;;) {
      const heard = this.#changes.rings;
      const left = until - this.#clock.monotonic();
      if (!this.#isStarting() || left <= 0) return this.#told;
      await this.#changes.ringAfter(heard, Math.min(left, lookAgainMs), this.#clock, signal);
    }
  }

  #isStarting(): boolean {
    const { state, nextStartAt } = this.#told;
    if (state !== 'waiting' || !nextStartAt) return state === 'starting';
    return nextStartAt.getTime() - this.#clock.now().getTime() <= soonMs;
  }
}
