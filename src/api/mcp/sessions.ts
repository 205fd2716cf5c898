import type { Clock } from '../../base/clock.ts';
import { startLoop } from '../../base/loop.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { Session } from './session.ts';

export interface SessionBounds {
  readonly perServer: number;
  readonly total: number;
  readonly idleMs: number;
}

export const sessionBounds: SessionBounds = { perServer: 1_000, total: 5_000, idleMs: 30 * 60_000 };

const sweepMs = 60_000;
/** How many ended sessions are remembered, so that their ids, though well sealed, open nothing any more. */
const rememberedEnds = 10_000;

/**
 * The sessions that are held now. One that nobody uses is put away after a while, or earlier where room is needed; its
 * id brings it back. One that its client ended is over.
 */
export class Sessions implements Disposable {
  readonly #clock: Clock;
  readonly #bounds: SessionBounds;
  /** The one that was used last is last. */
  readonly #held = new Map<string, { readonly session: Session; usedAt: number }>();
  readonly #over = new Set<string>();
  readonly #onFailure: (error: unknown) => void;
  /** Only while there is anything to put away. */
  #sweep: Disposable | undefined;

  constructor(clock: Clock, bounds: SessionBounds, onFailure: (error: unknown) => void) {
    this.#clock = clock;
    this.#bounds = bounds;
    this.#onFailure = onFailure;
  }

  get count(): number {
    return this.#held.size;
  }

  get all(): readonly Session[] {
    return [...this.#held.values()].map(({ session }) => session);
  }

  isOver(id: string): boolean {
    return this.#over.has(id);
  }

  /** Being looked for is being used. */
  find(id: string): Session | undefined {
    const held = this.#held.get(id);
    if (!held) return undefined;
    this.#held.delete(id);
    this.#held.set(id, { session: held.session, usedAt: this.#clock.monotonic() });
    return held.session;
  }

  /** Makes room where there is none: fails only where every session is in use. */
  admit(serverId: string): void {
    const ofServer = this.all.filter(({ facts }) => facts.serverId === serverId);
    if (ofServer.length >= this.#bounds.perServer) this.#putOneAway(ofServer);
    if (this.#held.size >= this.#bounds.total) this.#putOneAway(this.all);
  }

  add(session: Session): void {
    this.#held.set(session.id, { session, usedAt: this.#clock.monotonic() });
    this.#sweep ??= startLoop(sweepMs, () => this.#putIdleAway(), this.#clock, this.#onFailure);
  }

  /** Ended by its client, or with its server. */
  ended(session: Session): void {
    if (!this.#release(session)) return;
    this.#over.add(session.id);
    const [oldest] = this.#over;
    if (this.#over.size > rememberedEnds && oldest !== undefined) this.#over.delete(oldest);
  }

  [Symbol.dispose](): void {
    for (const session of this.all) this.#putAway(session);
  }

  async #putIdleAway(): Promise<void> {
    const before = this.#clock.monotonic() - this.#bounds.idleMs;
    for (const { session, usedAt } of [...this.#held.values()]) {
      if (usedAt <= before && session.isIdle) this.#putAway(session);
    }
  }

  #putOneAway(candidates: readonly Session[]): void {
    const idle = candidates.find((session) => session.isIdle);
    if (!idle) {
      throw new EmergentError('limit_reached', 'too many clients are connected to MCP servers', {
        hint: 'Wait until one disconnects.',
      });
    }
    this.#putAway(idle);
  }

  /** Before it ends, so that it does not count as ended by anybody. */
  #putAway(session: Session): void {
    this.#release(session);
    session.end();
  }

  #release(session: Session): boolean {
    const held = this.#held.delete(session.id);
    if (this.#held.size === 0) {
      this.#sweep?.[Symbol.dispose]();
      this.#sweep = undefined;
    }
    return held;
  }
}
