import type { Clock } from '../../src/base/clock.ts';
import type { Random } from './random.ts';
import type { ServerKeeper } from './server-keeper.ts';

export const faultKinds = ['server', 'engine', 'database'] as const;
export type FaultKind = (typeof faultKinds)[number];

/** Something that can be ended as by a crash, and started again. */
export interface Breakable {
  crash(): Promise<void>;
  start(): Promise<void>;
}

export interface FaultsOptions {
  readonly server: ServerKeeper;
  /** What may break besides the server; those left out stay whole. */
  readonly engine?: Breakable;
  readonly database?: Breakable;
  readonly kinds: readonly FaultKind[];
  readonly random: Random;
  readonly clock: Clock;
  /** How many operations have been acknowledged so far. */
  readonly acknowledged: () => number;
  /** What the first fault waits for. */
  readonly warmUp: number;
  /**
   * Whether operations are still missing after the time that the run was to take: then each fault waits for some, and
   * when all have struck often enough there are no more of them.
   */
  readonly overdue: () => boolean;
}

const weights: Readonly<Record<FaultKind, number>> = { server: 10, engine: 1, database: 1 };
/** How often each kind has struck when a run is complete. */
const enough: Readonly<Record<FaultKind, number>> = { server: 3, engine: 1, database: 1 };
/** Longer kinds come early, so that also a short run has one of each; then by their weights. */
const firstTurn: Readonly<Record<FaultKind, number>> = { server: 0, engine: 2, database: 4 };

/** After a server is ready, until it is killed: within the first requests of most clients. */
const killWithinMs = 2_000;
/**
 * Often enough it lives until some operations have been acknowledged, however slow the host is: otherwise there
 * would be nothing to lose.
 */
const respite = { chance: 0.35, operations: 20, mostMs: 12_000 };
const lookEveryMs = 20;
const killWhileStarting = { chance: 0.12, withinMs: 1_500 };
const downMs = 2_000;

/** Breaks one thing after the other until it is told to stop, and leaves everything running. */
export class Faults {
  readonly counts = new Map<FaultKind, number>(faultKinds.map((kind) => [kind, 0]));
  /** When the last one struck, by the clock's monotonic time. */
  lastAt = 0;
  readonly #options: FaultsOptions;
  readonly #random: Random;
  #turn = 0;

  constructor(options: FaultsOptions) {
    this.#options = options;
    this.#random = options.random;
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#work(this.#options.warmUp, signal);
    while (!signal.aborted) {
      const kind = this.#next();
      if (this.complete && this.#options.overdue()) await this.#pause(lookEveryMs, signal);
      else if (kind === 'server') await this.#killServer(signal);
      else await this.#break(kind, this.#options[kind], signal);
      this.#turn += 1;
    }
  }

  /** Whether each kind has struck often enough. */
  get complete(): boolean {
    return this.#options.kinds.every((kind) => (this.counts.get(kind) ?? 0) >= enough[kind]);
  }

  #next(): FaultKind {
    const { kinds } = this.#options;
    const due = kinds.find((kind) => this.counts.get(kind) === 0 && this.#turn >= firstTurn[kind]);
    if (due && this.#turn > 0) return due;
    return this.#random.weighted<FaultKind>(
      Object.fromEntries(kinds.map((kind) => [kind, weights[kind]])),
    );
  }

  async #killServer(signal: AbortSignal): Promise<void> {
    const { server } = this.#options;
    if (this.#random.chance(respite.chance) || this.#options.overdue()) {
      await this.#work(this.#random.integer(1, respite.operations), signal);
    }
    await this.#pause(this.#random.integer(0, killWithinMs), signal);
    await server.kill();
    this.#count('server');
    while (this.#random.chance(killWhileStarting.chance)) {
      await server.spawn();
      await this.#pause(this.#random.integer(0, killWhileStarting.withinMs), signal);
      await server.kill();
      this.#count('server');
    }
    await server.start();
  }

  /** Half of the time the server is killed while the other thing is down, too. */
  async #break(
    kind: 'engine' | 'database',
    broken: Breakable | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (!broken) return;
    const { server } = this.#options;
    await this.#pause(this.#random.integer(0, killWithinMs), signal);
    await broken.crash();
    this.#count(kind);
    await this.#pause(this.#random.integer(0, downMs), signal);
    const both = this.#options.kinds.includes('server') && this.#random.chance(0.5);
    if (both) {
      await server.kill();
      this.#count('server');
      // A server needs its database to start; without an engine it starts and waits for it.
      if (kind === 'engine') await server.start();
    }
    await broken.start();
    if (both && kind === 'database') await server.start();
    await this.#pause(downMs, signal);
  }

  /** Until the clients have got something done. */
  async #work(operations: number, signal: AbortSignal): Promise<void> {
    const { acknowledged, clock } = this.#options;
    const enough = acknowledged() + operations;
    const end = clock.monotonic() + respite.mostMs;
    while (acknowledged() < enough && clock.monotonic() < end && !signal.aborted) {
      await this.#pause(lookEveryMs, signal);
    }
  }

  #count(kind: FaultKind): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    this.lastAt = this.#options.clock.monotonic();
  }

  /** Cut short, not failed, by the end of the run: what is broken has to be mended. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(ms, signal).catch(() => undefined);
  }
}
