import type { Clock } from '../base/clock.ts';
import { DeadlineError, withDeadline } from '../base/deadline.ts';
import type { Log } from '../base/log.ts';
import { reasonOf } from '../base/reason.ts';
import { EmergentError } from '../domain/errors.ts';
import type { ProviderHealth, WorkspaceProvider } from '../domain/provider.ts';
import type { ProviderStatus, UnconfiguredProvider } from '../domain/provider-status.ts';
import { selectProviders } from '../domain/selection.ts';
import type { Candidate, Selection, SelectionRules } from '../domain/selection.ts';
import type { EventStore } from '../domain/store.ts';
import { CoolDowns } from './providers/cool-down.ts';
import { HealthChanges } from './providers/health-changes.ts';
import type { HealthChange } from './providers/health-changes.ts';
import { HealthMonitor } from './providers/health-monitor.ts';

export interface ProvidersOptions {
  readonly providers: readonly WorkspaceProvider[];
  /** Known by name and not to be had here: listed as absent, refused with the reason. */
  readonly unconfigured?: readonly UnconfiguredProvider[];
  readonly events: Pick<EventStore, 'recordNotice'>;
  readonly clock: Clock;
  readonly log: Log;
  /** From 0 up to 1; spreads the probes. */
  readonly random?: () => number;
}

/** A create must be answered in time also when a provider is not; the probe itself goes on. */
const patienceMs = 8_000;
/** Where nothing else can serve: what has to be tried for the first time takes its time. Longer than a probe may. */
const firstPatienceMs = 25_000;

/**
 * The providers this server runs, by name, with their health. Choices go by what the monitor last heard, and wait
 * only for a provider that has never answered. Where that leaves nobody, and for a provider asked for by name, the
 * answer is a fresh one: a provider that is back is used at once.
 */
export class Providers implements AsyncDisposable {
  readonly #providers: ReadonlyMap<string, WorkspaceProvider>;
  readonly #unconfigured: ReadonlyMap<string, UnconfiguredProvider>;
  readonly #coolDowns: CoolDowns;
  readonly #changes: HealthChanges;
  readonly #monitor: HealthMonitor;

  constructor(options: ProvidersOptions) {
    const { providers, unconfigured = [], events, clock, log, random = Math.random } = options;
    this.#providers = new Map(providers.map((provider) => [provider.name, provider]));
    this.#unconfigured = new Map(unconfigured.map((one) => [one.name, one]));
    this.#coolDowns = new CoolDowns(clock);
    this.#changes = new HealthChanges(events, log);
    this.#monitor = new HealthMonitor({
      ...{ providers, clock, log, random },
      onReport: (...report) => {
        this.#changes.report(...report);
      },
    });
  }

  /** From now on their health is watched; before, each is asked when somebody needs to know. */
  start(): void {
    this.#monitor.start();
  }

  /** `listener` hears of every change of a provider's state, the first word of it included. */
  onChange(listener: (change: HealthChange) => void): Disposable {
    return this.#changes.listen(listener);
  }

  get names(): readonly string[] {
    return [...this.#providers.keys()];
  }

  get(name: string): WorkspaceProvider {
    const provider = this.#providers.get(name);
    if (provider) return provider;
    const unconfigured = this.#unconfigured.get(name);
    if (unconfigured) throw unavailable(name, absent(unconfigured));
    throw new EmergentError('provider_unknown', `there is no provider "${name}"`, {
      details: { known: this.names },
    });
  }

  /** For an explicit choice: the provider itself, or why it cannot be used; never another one. */
  async requireHealthy(name: string): Promise<WorkspaceProvider> {
    const health = await this.healthOf(name);
    if (health.state === 'healthy') return this.get(name);
    throw unavailable(name, health);
  }

  /** Asked for now. */
  async healthOf(name: string): Promise<ProviderHealth> {
    const unconfigured = this.#unconfigured.get(name);
    if (unconfigured) return absent(unconfigured);
    return this.#known(name, await this.#ask([this.get(name)], firstPatienceMs));
  }

  /** By what is known; one that was never heard from is asked. */
  async lastHealthOf(name: string): Promise<ProviderHealth> {
    return this.#monitor.last(name)?.health ?? this.healthOf(name);
  }

  /** An automatic choice by what is known; if that leaves nobody, those who cannot serve are asked once more. */
  async select(rules: SelectionRules): Promise<Selection> {
    const known = this.#choose(rules, await this.#candidates(nobody));
    const none = known.order.length === 0;
    const asked = none ? this.#notHealthy() : this.#neverHeardFrom();
    if (asked.length === 0) return known;
    const silent = await this.#ask(asked, none ? firstPatienceMs : patienceMs);
    return this.#choose(rules, await this.#candidates(silent));
  }

  /** By what is known, whoever has failed a create just now: for what lasts longer than a cool-down. */
  async decideForLong(rules: SelectionRules): Promise<Selection> {
    const candidates = await this.#candidates(await this.#ask(this.#neverHeardFrom()));
    return this.#choose(rules, candidates, 'ignore cool-downs');
  }

  /** Its health, too, may be another now. */
  createFailed(name: string, error: unknown): void {
    this.#coolDowns.start(name, reasonOf(error));
    const provider = this.#providers.get(name);
    if (provider) this.#monitor.probeSoon(provider);
  }

  createSucceeded(name: string): void {
    this.#coolDowns.end(name);
  }

  /** Those that are not configured come last. */
  async statuses(active: ReadonlyMap<string, number>): Promise<readonly ProviderStatus[]> {
    const silent = await this.#ask(this.#neverHeardFrom());
    const configured = [...this.#providers.values()].map(async (provider) => {
      const { name } = provider;
      return {
        name,
        health: this.#known(name, silent),
        lastCheck: this.#monitor.last(name)?.at ?? null,
        coolingDown: this.#coolDowns.shown(name),
        activeWorkspaces: active.get(name) ?? 0,
        capabilities: await provider.capabilities(),
      };
    });
    const others = [...this.#unconfigured.values()].map((one) => ({
      ...{ name: one.name, health: absent(one), lastCheck: null, coolingDown: null },
      activeWorkspaces: active.get(one.name) ?? 0,
      capabilities: null,
    }));
    return [...(await Promise.all(configured)), ...others];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#monitor[Symbol.asyncDispose]();
    await this.#changes[Symbol.asyncDispose]();
  }

  #neverHeardFrom(): readonly WorkspaceProvider[] {
    return [...this.#providers.values()].filter(({ name }) => !this.#monitor.last(name));
  }

  #notHealthy(): readonly WorkspaceProvider[] {
    const healthy = (name: string): boolean => this.#monitor.last(name)?.health.state === 'healthy';
    return [...this.#providers.values()].filter(({ name }) => !healthy(name));
  }

  #candidates(silent: ReadonlySet<string>): Promise<readonly Candidate[]> {
    const candidates = [...this.#providers.values()].map(async (provider) => {
      const { isolation, requires } = await provider.capabilities();
      const health = this.#known(provider.name, silent);
      return { name: provider.name, isolation, managed: requires.includes('network'), health };
    });
    return Promise.all(candidates);
  }

  #choose(
    rules: SelectionRules,
    candidates: readonly Candidate[],
    ignore?: 'ignore cool-downs',
  ): Selection {
    const cooling = candidates.map((candidate) => {
      const coolingDown = ignore ? undefined : this.#coolDowns.of(candidate.name);
      return coolingDown ? { ...candidate, coolingDown } : candidate;
    });
    const selection = selectProviders(cooling, rules);
    const others = [...this.#unconfigured.values()].map(({ name, reason }) => ({ name, reason }));
    return { ...selection, leftOut: [...selection.leftOut, ...others] };
  }

  /** Fresh reports of these; answers which of them gave none in time. `firstMs`: for one that never gave any. */
  async #ask(
    providers: readonly WorkspaceProvider[],
    firstMs = patienceMs,
  ): Promise<ReadonlySet<string>> {
    const silent = new Set<string>();
    const asked = providers.map(async (provider) => {
      const { name } = provider;
      try {
        const ms = this.#monitor.last(name) ? patienceMs : firstMs;
        await withDeadline(`an answer of ${name}`, ms, () => this.#monitor.probe(provider));
      } catch (error) {
        if (!(error instanceof DeadlineError)) throw error;
        silent.add(name);
      }
    });
    await Promise.all(asked);
    return silent;
  }

  #known(name: string, silent: ReadonlySet<string>): ProviderHealth {
    const health = this.#monitor.last(name)?.health;
    if (health && !silent.has(name)) return health;
    const remedy = 'Try again in a moment; `emergent doctor` on the host says more.';
    const noAnswer = `no answer within ${String(patienceMs / 1000)} s`;
    return {
      state: 'unhealthy',
      reason: health && health.state !== 'healthy' ? `${health.reason} (${noAnswer})` : noAnswer,
      remedy: health && health.state !== 'healthy' ? health.remedy : remedy,
      details: health?.details ?? {},
    };
  }
}

const nobody: ReadonlySet<string> = new Set();

type Unusable = Exclude<ProviderHealth, { readonly state: 'healthy' }>;

function absent({ reason, remedy }: UnconfiguredProvider): Unusable {
  return { state: 'absent', reason, remedy, details: {} };
}

function unavailable(name: string, { state, reason, remedy }: Unusable): EmergentError {
  return new EmergentError('provider_unavailable', `${name}: ${reason}`, {
    hint: remedy,
    details: { providers: [{ name, state, reason }] },
  });
}
