import { availableParallelism } from 'node:os';
import { Bell } from '../../base/bell.ts';
import { withDeadline } from '../../base/deadline.ts';
import { startLoop } from '../../base/loop.ts';
import { Troubles } from '../../base/troubles.ts';
import { requireAdmin } from '../../domain/caller.ts';
import type { Caller } from '../../domain/caller.ts';
import { EmergentError } from '../../domain/errors.ts';
import { planPool } from '../../domain/pool-plan.ts';
import type { SelectionRules } from '../../domain/selection.ts';
import type { PoolStore } from '../../domain/store.ts';
import type { PoolDefinition, PoolReport } from '../../domain/warm-pool.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { PoolOperations } from '../engine.ts';
import type { LifecycleContext } from '../lifecycle/context.ts';
import type { Creation } from '../lifecycle/creation.ts';
import type { Destruction } from '../lifecycle/destruction.ts';
import { Claims } from './claims.ts';
import { Fingerprints } from './fingerprints.ts';
import { Members } from './members.ts';
import { NextUp } from './next-up.ts';
import { Refill } from './refill.ts';
import { statusOf } from './status.ts';
import { surveyMembers } from './survey.ts';
import type { Running } from './survey.ts';
import { Targets } from './targets.ts';
import type { Target } from './targets.ts';

export interface WarmPoolOptions {
  readonly context: LifecycleContext;
  readonly pools: PoolStore;
  readonly creation: Creation;
  readonly destruction: Destruction;
  /** What the server is configured with. */
  readonly definitions: readonly PoolDefinition[];
  /** The version of the server. */
  readonly release: string;
  readonly rules: SelectionRules;
}

const everyMs = 10_000;
/** However often it is nudged. */
const leastPauseMs = 100;
/** After a create took one, others often follow: making new ones would only slow them down. */
const lullMs = 250;
const longestLullMs = 2_000;
const closeDeadlineMs = 15_000;

/**
 * Keeps sandboxes waiting for workspaces that are still to come. Its members are rows like others, so that nothing is
 * lost or left over when a server dies; every server on the database keeps the same pools.
 */
export class WarmPool implements PoolOperations, AsyncDisposable {
  readonly claims: Claims;
  readonly #options: WarmPoolOptions;
  readonly #targets: Targets;
  readonly #members: Members;
  readonly #refill: Refill;
  readonly #nextUp: NextUp;
  readonly #troubles: Troubles;
  readonly #nudges = new Bell();
  readonly #stop = new AbortController();
  /** What the configuration says and the database has not been told yet. */
  #toConfigure: readonly PoolDefinition[] | undefined;
  #lastTaken = Number.NEGATIVE_INFINITY;
  #loop: Disposable | undefined;
  #firstLook: Promise<void> | undefined;
  #onLooked: () => void = () => undefined;
  #turning: Promise<void> = Promise.resolve();

  constructor(options: WarmPoolOptions) {
    this.#options = options;
    const { context, pools, rules, release, definitions } = options;
    const { providers, releases, maxConcurrent, clock, log } = context;
    const nudge = (): void => {
      this.nudge();
    };
    this.#toConfigure = definitions;
    this.#troubles = new Troubles(log);
    const fingerprints = new Fingerprints(clock, nudge, this.#stop.signal);
    this.#targets = new Targets({ providers, fingerprints, rules, release });
    this.#members = new Members({ ...options, deploymentMode: rules.deploymentMode });
    this.#refill = new Refill({
      members: this.#members,
      atOnce: Math.min(Math.max(availableParallelism(), 2), 8),
      sizeOf: (key) => this.#targets.sizeOf(key),
      onMade: nudge,
      signal: this.#stop.signal,
      ...{ clock, log },
    });
    this.#nextUp = new NextUp((name) => providers.get(name));
    this.claims = new Claims({
      ...{ pools, targets: this.#targets, nextUp: this.#nextUp, releases, maxConcurrent, log },
      firstLook: () => this.#firstLook,
      onTaken: () => {
        this.#lastTaken = clock.monotonic();
        this.nudge();
      },
    });
  }

  /** The first turn begins at once. */
  start(): void {
    const { clock, log } = this.#options.context;
    const first = Promise.withResolvers<void>();
    this.#firstLook = first.promise;
    this.#onLooked = () => {
      this.#firstLook = undefined;
      first.resolve();
    };
    this.#loop ??= startLoop(
      0,
      (signal) => this.#turn(signal),
      clock,
      (error) => {
        log.error('the warm pool is no longer looked after', { err: error });
      },
    );
  }

  /** What the configuration says now; sizes that were changed at run time hold until theirs changes. */
  async configure(definitions: readonly PoolDefinition[]): Promise<void> {
    const { pools, release } = this.#options;
    this.#toConfigure = definitions;
    await pools.configure(definitions, release);
    if (this.#toConfigure === definitions) this.#toConfigure = undefined;
    this.tryNow();
  }

  async resize(caller: Caller, name: string, size: number): Promise<PoolReport> {
    requireAdmin(caller);
    const resized = await this.#options.pools.resize(name, size, caller.tokenId);
    if (!resized) throw new EmergentError('pool_not_found', `there is no pool "${name}"`);
    this.tryNow();
    return this.report();
  }

  async report(): Promise<PoolReport> {
    const { pools } = this.#options;
    const [stored, members] = await Promise.all([pools.list(), pools.members()]);
    const targets = new Map(this.#targets.all.map((each) => [each.pool.definition.name, each]));
    return {
      pools: stored.map((pool) => {
        const { name } = pool.definition;
        const own = members.filter((member) => member.pool === name);
        return statusOf(pool, targets.get(name), own, this.#refill.trouble(name));
      }),
      counts: this.claims.counts,
    };
  }

  /** Look soon instead of at the next turn. */
  nudge(): void {
    this.#nudges.ring();
  }

  /** Something has changed that may have been in the way. */
  tryNow(): void {
    this.#refill.tryNow();
    this.nudge();
  }

  /** Begins nothing more; members go on waiting for the next server. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#loop?.[Symbol.dispose]();
    this.#stop.abort(new EmergentError('shutting_down', 'the server is stopping'));
    try {
      await withDeadline('the end of work on the warm pool', closeDeadlineMs, async () => {
        await this.#turning;
        await this.#refill.ended();
      });
    } catch (error) {
      const { log } = this.#options.context;
      log.warn('work on the warm pool still went on at shutdown', { err: error });
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.context;
    const heard = this.#nudges.rings;
    this.#turning = this.#look().finally(this.#onLooked);
    await this.#turning;
    await clock.sleep(leastPauseMs, signal);
    await this.#nudges.ringAfter(heard, this.#pauseMs(), clock, signal);
    await this.#lull(signal);
  }

  /** Until the next regular turn, or until what has failed may be tried again. */
  #pauseMs(): number {
    const pauses = this.#targets.all
      .map(({ pool }) => this.#refill.pauseMs(pool.definition.name))
      .filter((ms) => ms > 0);
    return Math.min(everyMs, ...pauses);
  }

  async #lull(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.context;
    const until = clock.monotonic() + longestLullMs;
    for (;;) {
      const now = clock.monotonic();
      const left = Math.min(this.#lastTaken + lullMs, until) - now;
      if (left <= 0) return;
      await clock.sleep(left, signal);
    }
  }

  /** Never fails: what cannot be done now is told to the log, once, and done later. */
  async #look(): Promise<void> {
    try {
      if (this.#toConfigure) await this.configure(this.#toConfigure);
      await this.#lookAfterAll();
      this.#troubles.over('turn', 'the warm pool is looked after again');
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#troubles.note('turn', 'the warm pool could not be looked after', error);
    }
  }

  async #lookAfterAll(): Promise<void> {
    const { pools, context } = this.#options;
    const { signal } = this.#stop;
    const targets = await this.#targets.refresh(await pools.list());
    const members = await pools.members();
    this.#members.keepOnly(new Set(members.map(({ id }) => id)));
    const waiting = members.filter(({ status }) => status === 'warm');
    this.#nextUp.waiting = waiting;
    const running = await surveyMembers(waiting, context.providers, this.#troubles, signal);
    signal.throwIfAborted();
    for (const target of targets) this.#lookAfter(target, members, running);
    const named = new Set(targets.map(({ pool }) => pool.definition.name));
    for (const member of waiting) {
      if (named.has(member.pool ?? '') || !running.has(member.provider)) continue;
      this.#refill.retire({ member, why: 'its pool is gone' });
    }
  }

  #lookAfter(target: Target, all: readonly Workspace[], running: Running): void {
    const { pool, provider, key, obstacle } = target;
    const { definition, size } = pool;
    const members = all.filter((member) => member.pool === definition.name);
    const runs = (member: Workspace): boolean | undefined =>
      running.get(member.provider)?.has(member.id) ?? undefined;
    const alive = (member: Workspace): boolean | undefined =>
      this.#members.isSilent(member) ? false : runs(member);
    const plan = planPool({ size, key }, { members, runs: alive });
    // What another version of the server keeps, and what cannot be reached, is left alone.
    const mine = pool.release === this.#options.release;
    const retired = plan.retire.filter(({ member }) => mine && running.has(member.provider));
    for (const retirement of retired) this.#refill.retire(retirement);
    const gone = new Set(retired.map(({ member }) => member.id));
    for (const member of members) {
      const rests = member.status === 'warm' && !gone.has(member.id) && runs(member) === true;
      if (rests) this.#refill.rest(member);
    }
    if (provider === null || key === null || obstacle !== null) return;
    this.#refill.make({ definition, provider, key }, plan.create);
  }
}
