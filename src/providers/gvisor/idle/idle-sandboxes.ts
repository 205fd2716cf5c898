import type { Clock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/deadline.ts';
import type { Log } from '../../../base/log.ts';
import { startLoop } from '../../../base/loop.ts';
import type { SandboxRef } from '../../../domain/provider.ts';
import type { GuestIdle } from '../../guest/idle.ts';
import { KnownFreezer } from './known-freezer.ts';
import type { Freezers } from './sandbox-freezers.ts';

export interface IdleSandboxesOptions {
  readonly freezers: Freezers;
  /** Must neither wake the sandbox nor count as a use of it. */
  readonly ask: (ref: SandboxRef, signal: AbortSignal) => Promise<GuestIdle>;
  /** How long nobody must have used a sandbox before it is frozen; null: none is ever frozen. */
  readonly idleMs: number | null;
  readonly clock: Clock;
  readonly log: Log;
}

interface Sandbox {
  readonly ref: SandboxRef;
  readonly freezer: KnownFreezer;
  holds: number;
  /** Ends the waiting for it to be idle. */
  resting: AbortController | undefined;
  /** It was frozen here, and nobody has used it here since. */
  frozenHere: boolean;
  /** To be forgotten when the last hold goes. */
  closed: boolean;
}

/** A number: it is quiet, but not for long enough; to be asked again after so many milliseconds. */
type Outcome = number | FreezeOutcome;

/** `never`: it cannot be frozen here. */
export type FreezeOutcome = 'busy' | 'frozen' | 'never';

const askMs = 5_000;
/** A sandbox in which something runs is asked again after these pauses, each twice the one before. */
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
/** Another server may freeze a sandbox just when it is used here. */
const watchEveryMs = 250;

/**
 * Freezes sandboxes in which nothing runs, and thaws them for whoever wants something of them.
 *
 * held (somebody uses it: thawed) -> resting (for `idleMs`, then asked, again and again while something runs in it)
 * -> frozen -> held. Whoever holds a sandbox thaws it first, whatever is believed of it: another server, or one that
 * was killed, may have frozen it.
 */
export class IdleSandboxes implements Disposable {
  readonly #options: IdleSandboxesOptions;
  readonly #sandboxes = new Map<string, Sandbox>();
  #watching: Disposable | undefined;
  #disposed = false;
  #absence: string | undefined;

  constructor(options: IdleSandboxesOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the sandbox is thawed; it stays so until the answer is called. Never fails: a sandbox that cannot
   * be thawed is one that cannot be reached, and whoever tries learns why.
   */
  async hold(ref: SandboxRef): Promise<() => void> {
    const sandbox = this.#known(ref);
    sandbox.holds += 1;
    sandbox.frozenHere = false;
    sandbox.closed = false;
    this.#endRest(sandbox);
    this.#watch();
    await this.#noting(sandbox, 'a sandbox cannot be thawed', () => sandbox.freezer.thaw());
    let held = true;
    return () => {
      if (held) this.#letGo(sandbox);
      held = false;
    };
  }

  /** A container was started just now, perhaps another than before. */
  started(ref: SandboxRef): void {
    this.#known(ref).freezer.started();
  }

  /** It runs, though perhaps nobody has used it through this server. */
  seen(ref: SandboxRef): void {
    const sandbox = this.#known(ref);
    if (sandbox.holds === 0 && !sandbox.resting) this.#rest(sandbox);
  }

  /**
   * The link to it broke without our doing, so its engine may be on its way out: one that meets a frozen container
   * then, or at its next start, might wait for it.
   */
  lost({ sandboxName }: SandboxRef): void {
    const sandbox = this.#sandboxes.get(sandboxName);
    if (!sandbox || sandbox.closed || this.#disposed) return;
    this.#thawKnown(sandbox);
    sandbox.frozenHere = false;
    if (sandbox.holds > 0) return;
    this.#endRest(sandbox);
    this.#rest(sandbox);
  }

  /** Reads it from the host: whoever froze it. */
  async isFrozen(ref: SandboxRef): Promise<boolean> {
    const freezer = await this.#known(ref).freezer.get();
    return freezer?.state() === 'frozen';
  }

  /** It was frozen here, nobody has used it here since, and its link is open as it was then. */
  sleeps({ sandboxName }: SandboxRef): boolean {
    const sandbox = this.#sandboxes.get(sandboxName);
    return sandbox?.frozenHere === true && sandbox.freezer.freezer?.state() === 'frozen';
  }

  /** What the host tells without being asked for anything new: it ran, and has ended. */
  hasEnded({ sandboxName }: SandboxRef): boolean {
    return this.#sandboxes.get(sandboxName)?.freezer.freezer?.state() === 'gone';
  }

  /** At once, unless something runs in it or somebody uses it; then when it has been idle. */
  async freezeNow(ref: SandboxRef, signal: AbortSignal): Promise<FreezeOutcome> {
    if (this.#options.idleMs === null) return 'never';
    const sandbox = this.#known(ref);
    if (sandbox.holds > 0) return 'busy';
    this.#endRest(sandbox);
    const trying = new AbortController();
    sandbox.resting = trying;
    const either = AbortSignal.any([signal, trying.signal]);
    const outcome = await this.#outcome(sandbox, 0, either).catch(() => 'busy' as const);
    signal.throwIfAborted();
    // Whoever holds it meanwhile has it rest afterwards.
    if (sandbox.resting !== trying) return 'busy';
    sandbox.resting = undefined;
    if (outcome !== 'frozen') this.#rest(sandbox);
    return typeof outcome === 'number' ? 'busy' : outcome;
  }

  close({ sandboxName }: SandboxRef): void {
    const sandbox = this.#sandboxes.get(sandboxName);
    if (!sandbox) return;
    this.#endRest(sandbox);
    sandbox.freezer.forget();
    sandbox.closed = true;
    if (sandbox.holds === 0) this.#sandboxes.delete(sandboxName);
  }

  /** For people who look at the provider's health. */
  facts(): Readonly<Record<string, string>> {
    if (this.#options.idleMs === null) return { idle_freeze: 'off' };
    if (this.#absence === undefined) return { idle_freeze: 'on' };
    return { idle_freeze: 'absent', idle_freeze_reason: this.#absence };
  }

  /** What was frozen here is thawed: a person with nothing but the engine at hand would wait for it in vain. */
  [Symbol.dispose](): void {
    this.#disposed = true;
    this.#watching?.[Symbol.dispose]();
    for (const sandbox of this.#sandboxes.values()) {
      this.#endRest(sandbox);
      if (sandbox.frozenHere) this.#thawKnown(sandbox);
    }
  }

  #known(ref: SandboxRef): Sandbox {
    const known = this.#sandboxes.get(ref.sandboxName);
    if (known) return known;
    const freezer = new KnownFreezer(() => this.#options.freezers.find(ref));
    const sandbox = {
      ref,
      freezer,
      holds: 0,
      resting: undefined,
      frozenHere: false,
      closed: false,
    };
    this.#sandboxes.set(ref.sandboxName, sandbox);
    return sandbox;
  }

  /** At once, where its freezer is known; nothing is looked for. */
  #thawKnown(sandbox: Sandbox): void {
    void this.#noting(sandbox, 'a sandbox cannot be thawed', async () => {
      sandbox.freezer.freezer?.thaw();
    });
  }

  #letGo(sandbox: Sandbox): void {
    sandbox.holds -= 1;
    if (sandbox.holds > 0) return;
    if (sandbox.closed) this.#sandboxes.delete(sandbox.ref.sandboxName);
    else this.#rest(sandbox);
  }

  #endRest(sandbox: Sandbox): void {
    sandbox.resting?.abort(new Error('the sandbox is used'));
    sandbox.resting = undefined;
  }

  #rest(sandbox: Sandbox): void {
    const { idleMs } = this.#options;
    if (idleMs === null || this.#disposed) return;
    const resting = new AbortController();
    sandbox.resting = resting;
    const untilFrozen = async (): Promise<void> => {
      try {
        await this.#untilFrozen(sandbox, idleMs, resting.signal);
      } catch (error) {
        if (!resting.signal.aborted) throw error;
      } finally {
        if (sandbox.resting === resting) sandbox.resting = undefined;
      }
    };
    void this.#noting(sandbox, 'a sandbox cannot be frozen', untilFrozen);
  }

  async #untilFrozen(sandbox: Sandbox, idleMs: number, signal: AbortSignal): Promise<void> {
    let pauseMs = idleMs;
    let busyMs = Math.max(idleMs, firstPauseMs);
    for (;;) {
      await this.#options.clock.sleep(pauseMs, signal);
      const next = await this.#outcome(sandbox, idleMs, signal);
      if (next === 'frozen' || next === 'never') return;
      pauseMs = next === 'busy' ? busyMs : next;
      if (next === 'busy') busyMs = Math.min(2 * busyMs, longestPauseMs);
    }
  }

  /** What cannot be looked at or does not answer may do so later; fails only by the signal. */
  async #outcome(sandbox: Sandbox, quietMs: number, signal: AbortSignal): Promise<Outcome> {
    try {
      return await this.#tryToFreeze(sandbox, quietMs, signal);
    } catch (error) {
      signal.throwIfAborted();
      const { sandboxName } = sandbox.ref;
      this.#options.log.debug('a sandbox is not frozen', { sandbox: sandboxName, err: error });
      return 'busy';
    }
  }

  async #tryToFreeze(sandbox: Sandbox, quietMs: number, signal: AbortSignal): Promise<Outcome> {
    const { freezers, ask } = this.#options;
    const freezer = await sandbox.freezer.get();
    const state = freezer?.state() ?? 'gone';
    this.#absence = sandbox.freezer.absence ?? (await freezers.refusal(signal));
    if (state === 'frozen') return 'frozen';
    if (!freezer || state === 'gone' || this.#absence !== undefined) return 'never';
    const said = await withDeadline(
      'the sandbox agent, asked whether it is idle,',
      askMs,
      (inner) => ask(sandbox.ref, inner),
      signal,
    );
    if (said.processes > 0 || said.requests > 0) return 'busy';
    if (said.quietMs < quietMs) return quietMs - said.quietMs;
    // Nothing is awaited between this and the freezing.
    if (signal.aborted || sandbox.holds > 0 || this.#disposed) return 'busy';
    sandbox.frozenHere = sandbox.freezer.freeze(freezer);
    return sandbox.frozenHere ? 'frozen' : 'never';
  }

  /** Runs while anything is held. */
  #watch(): void {
    if (this.#disposed) return;
    this.#watching ??= startLoop(
      watchEveryMs,
      () => this.#keepThawed(),
      this.#options.clock,
      (error) => {
        this.#options.log.error('held sandboxes are no longer watched', { err: error });
      },
    );
  }

  async #keepThawed(): Promise<void> {
    const held = [...this.#sandboxes.values()].filter(({ holds }) => holds > 0);
    for (const sandbox of held) {
      await this.#noting(sandbox, 'a sandbox cannot be kept thawed', async () => {
        const freezer = await sandbox.freezer.sought();
        if (sandbox.holds > 0) freezer?.thaw();
      });
    }
    if (held.length > 0) return;
    this.#watching?.[Symbol.dispose]();
    this.#watching = undefined;
  }

  async #noting({ ref }: Sandbox, what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.log.warn(what, { sandbox: ref.sandboxName, err: error });
    }
  }
}
