import type { Clock } from '../base/clock.ts';
import { withDeadline } from '../base/deadline.ts';
import { reasonOf } from '../base/reason.ts';
import { EmergentError } from '../domain/errors.ts';
import type { ProviderHealth, WorkspaceProvider } from '../domain/provider.ts';
import type { ProviderStatus } from '../domain/provider-status.ts';
import { selectProviders } from '../domain/selection.ts';
import type { Selection, SelectionRules } from '../domain/selection.ts';

interface Probe {
  readonly health: ProviderHealth;
  readonly at: Date;
  readonly monotonic: number;
}

/** Longer than a provider may try what it has never tried; whatever it asks has shorter ones of its own. */
const probeDeadlineMs = 20_000;

/**
 * The providers this server runs, by name, with their health. A probe is shared by all who ask while it runs.
 * Only for display may a good answer be some seconds old: a create asks anew, and bad news is never kept, so
 * that a provider that is back is used at once.
 */
export class Providers {
  readonly #providers: ReadonlyMap<string, WorkspaceProvider>;
  readonly #clock: Clock;
  readonly #freshMs: number;
  readonly #last = new Map<string, Probe>();
  readonly #running = new Map<string, Promise<Probe>>();

  constructor(providers: readonly WorkspaceProvider[], clock: Clock, freshMs = 2_000) {
    this.#providers = new Map(providers.map((provider) => [provider.name, provider]));
    this.#clock = clock;
    this.#freshMs = freshMs;
  }

  get names(): readonly string[] {
    return [...this.#providers.keys()];
  }

  get(name: string): WorkspaceProvider {
    const provider = this.#providers.get(name);
    if (provider) return provider;
    throw new EmergentError('provider_unknown', `there is no provider "${name}"`, {
      details: { known: this.names },
    });
  }

  /** For an explicit choice: the provider itself, or why it cannot be used; never another one. */
  async requireHealthy(name: string): Promise<WorkspaceProvider> {
    const provider = this.get(name);
    const { health } = await this.#probe(provider, 0);
    if (health.state === 'healthy') return provider;
    throw new EmergentError('provider_unavailable', `${name}: ${health.reason}`, {
      hint: health.remedy,
      details: { providers: [{ name, state: health.state, reason: health.reason }] },
    });
  }

  /** For an automatic choice. */
  async select(rules: SelectionRules): Promise<Selection> {
    const candidates = [...this.#providers.values()].map(async (provider) => {
      const { health } = await this.#probe(provider, 0);
      const { isolation, requires } = await provider.capabilities();
      return { name: provider.name, health, isolation, managed: requires.includes('network') };
    });
    return selectProviders(await Promise.all(candidates), rules);
  }

  async statuses(active: ReadonlyMap<string, number>): Promise<readonly ProviderStatus[]> {
    return Promise.all(
      [...this.#providers.values()].map(async (provider) => {
        const probe = await this.#probe(provider, this.#freshMs);
        return {
          name: provider.name,
          health: probe.health,
          lastCheck: probe.at,
          activeWorkspaces: active.get(provider.name) ?? 0,
          capabilities: await provider.capabilities(),
        };
      }),
    );
  }

  async #probe(provider: WorkspaceProvider, freshMs: number): Promise<Probe> {
    const last = this.#last.get(provider.name);
    const fresh = last && this.#clock.monotonic() - last.monotonic < freshMs;
    if (fresh && last.health.state === 'healthy') return last;
    const running = this.#running.get(provider.name);
    if (running) return running;
    const started = this.#ask(provider);
    this.#running.set(provider.name, started);
    try {
      return await started;
    } finally {
      this.#running.delete(provider.name);
    }
  }

  async #ask(provider: WorkspaceProvider): Promise<Probe> {
    let health: ProviderHealth;
    try {
      health = await withDeadline(`health of ${provider.name}`, probeDeadlineMs, (signal) =>
        provider.health(signal),
      );
    } catch (error) {
      health = {
        state: 'unhealthy',
        reason: reasonOf(error),
        remedy: 'Run `emergent doctor` on the host.',
        details: {},
      };
    }
    const probe = { health, at: this.#clock.now(), monotonic: this.#clock.monotonic() };
    this.#last.set(provider.name, probe);
    return probe;
  }
}
