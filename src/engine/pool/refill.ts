import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { reasonOf } from '../../base/reason.ts';
import { Slots } from '../../base/slots.ts';
import type { Retirement } from '../../domain/pool-plan.ts';
import type { Workspace } from '../../domain/workspace.ts';
import { BackOff } from './back-off.ts';
import type { MemberOrder, Members } from './members.ts';

export interface RefillOptions {
  readonly members: Pick<Members, 'make' | 'rest' | 'retire'>;
  /** How many sandboxes are made at once, for all pools together. */
  readonly atOnce: number;
  /** How many members of this key there should be now; what was ordered before may no longer be wanted. */
  readonly sizeOf: (key: string) => number;
  /** A member was made, or could not be: the pools are worth another look. */
  readonly onMade: () => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const retireAtOnce = 2;
const restAtOnce = 4;

/** What is done about pools in the background: making, resting and retiring members, each bounded in parallel. */
export class Refill {
  readonly #options: RefillOptions;
  readonly #making: Slots;
  readonly #retiring = new Slots(retireAtOnce);
  readonly #resting = new Slots(restAtOnce);
  readonly #backOffs = new Map<string, BackOff>();
  /** Making, or waiting for their turn; not yet in the database. */
  readonly #ordered = new Map<string, number>();
  readonly #busy = new Set<string>();
  readonly #running = new Set<Promise<void>>();

  constructor(options: RefillOptions) {
    this.#options = options;
    this.#making = new Slots(options.atOnce);
  }

  /** Why the last attempt for a pool failed; null: none did since one succeeded. */
  trouble(pool: string): string | null {
    return this.#backOff(pool).reason;
  }

  /** How long a pool is left alone after failures. */
  pauseMs(pool: string): number {
    return this.#backOff(pool).leftMs;
  }

  /** Things have changed: what failed is worth a try. */
  tryNow(): void {
    for (const backOff of this.#backOffs.values()) backOff.tryNow();
  }

  /** Has `count` more made, those that are ordered already included. */
  make(order: Omit<MemberOrder, 'size'>, count: number): void {
    const { name } = order.definition;
    if (this.#backOff(name).leftMs > 0) return;
    const ordered = this.#ordered.get(order.key) ?? 0;
    for (let more = count - ordered; more > 0; more -= 1) {
      this.#ordered.set(order.key, (this.#ordered.get(order.key) ?? 0) + 1);
      this.#start(() => this.#make(order).finally(this.#options.onMade));
    }
  }

  rest(member: Workspace): void {
    const { members, signal } = this.#options;
    this.#once(`rest ${member.id}`, () =>
      this.#resting.use(() => members.rest(member, signal), signal),
    );
  }

  retire(retirement: Retirement): void {
    const { members, log, signal } = this.#options;
    const { id: workspace } = retirement.member;
    this.#once(`retire ${workspace}`, async () => {
      try {
        await this.#retiring.use(() => members.retire(retirement), signal);
      } catch (error) {
        if (signal.aborted) return;
        // The row says `destroying`, or still `warm`: the reconciler or the next turn goes on with it.
        log.warn('a warm sandbox could not be retired yet', { workspace, err: error });
      }
    });
  }

  /** Resolves when nothing goes on any more; what has not begun does not begin once the signal is aborted. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  async #make(order: Omit<MemberOrder, 'size'>): Promise<void> {
    const { members, sizeOf, log, signal } = this.#options;
    const { name: pool } = order.definition;
    const backOff = this.#backOff(pool);
    let placed = false;
    const place = (): void => {
      if (!placed) this.#ordered.set(order.key, (this.#ordered.get(order.key) ?? 1) - 1);
      placed = true;
    };
    try {
      await this.#making.use(async () => {
        // Another that was ordered with this one may have failed meanwhile.
        if (backOff.leftMs > 0) return;
        const size = sizeOf(order.key);
        const member = await members.make({ ...order, size }, signal, place);
        if (!member) return;
        backOff.succeeded();
        log.info('a warm sandbox is ready', {
          workspace: member.id,
          pool,
          provider: order.provider,
        });
      }, signal);
    } catch (error) {
      if (signal.aborted) return;
      backOff.failed(reasonOf(error));
      const pause = Math.round(backOff.leftMs);
      log.warn('a warm sandbox could not be made', { pool, again_in_ms: pause, err: error });
    } finally {
      place();
    }
  }

  /** Nothing twice at a time. */
  #once(what: string, work: () => Promise<void>): void {
    if (this.#busy.has(what)) return;
    this.#busy.add(what);
    this.#start(async () => {
      try {
        await work();
      } finally {
        this.#busy.delete(what);
      }
    });
  }

  #start(work: () => Promise<void>): void {
    const { log, signal } = this.#options;
    const running = work()
      .catch((error: unknown) => {
        if (!signal.aborted) log.warn('looking after the warm pool failed', { err: error });
      })
      .finally(() => {
        this.#running.delete(running);
      });
    this.#running.add(running);
  }

  #backOff(pool: string): BackOff {
    const known = this.#backOffs.get(pool);
    if (known) return known;
    const made = new BackOff(this.#options.clock);
    this.#backOffs.set(pool, made);
    return made;
  }
}
