import type { Log } from '../../base/log.ts';
import { actors } from '../../domain/events.ts';
import type { Notice } from '../../domain/events.ts';
import type { ProviderHealth } from '../../domain/provider.ts';
import type { EventStore } from '../../domain/store.ts';
import type { HealthReport } from './health-monitor.ts';

/** A provider is in another state than before; `from` is null when it is heard from for the first time. */
export interface HealthChange {
  readonly provider: string;
  readonly from: ProviderHealth['state'] | null;
  readonly health: ProviderHealth;
}

/**
 * Tells of a provider's changes: to the log, to whoever listens, and all but the first word of it to the event log.
 * Neither a listener that throws nor a database that does not answer comes back to whoever reports.
 */
export class HealthChanges implements AsyncDisposable {
  readonly #events: Pick<EventStore, 'recordNotice'>;
  readonly #log: Log;
  readonly #listeners = new Set<(change: HealthChange) => void>();
  /** One after the other, so that the event log has them in their order. */
  #recorded: Promise<void> = Promise.resolve();

  constructor(events: Pick<EventStore, 'recordNotice'>, log: Log) {
    this.#events = events;
    this.#log = log;
  }

  listen(listener: (change: HealthChange) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  report(provider: string, { health, at }: HealthReport, before?: HealthReport): void {
    if (before?.health.state === health.state) {
      this.#noteReason(provider, health, before.health);
      return;
    }
    const from = before?.health.state ?? null;
    this.#say(provider, health, from);
    if (from !== null) this.#record(noticeOf(provider, health, from, at));
    for (const listener of this.#listeners) {
      try {
        listener({ provider, from, health });
      } catch (error) {
        this.#log.error('a listener for changes of health failed', { provider, err: error });
      }
    }
  }

  /** Waits until all is written, or could not be. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
    await this.#recorded;
  }

  #noteReason(provider: string, health: ProviderHealth, before: ProviderHealth): void {
    if (health.state === 'healthy' || before.state === 'healthy') return;
    if (health.reason === before.reason) return;
    this.#log.debug('a provider cannot run workspaces for another reason', { provider, ...health });
  }

  #say(provider: string, health: ProviderHealth, from: HealthChange['from']): void {
    const about = { provider, ...(from !== null && { from }), ...health };
    if (health.state === 'healthy') {
      if (from === null) this.#log.info('a provider can run workspaces', about);
      else this.#log.warn('a provider can run workspaces again', about);
    } else if (from === null && health.state === 'absent') {
      this.#log.debug('a provider is not used on this host', about);
    } else {
      this.#log.warn('a provider cannot run workspaces', about);
    }
  }

  #record(notice: Notice): void {
    this.#recorded = this.#recorded.then(async () => {
      try {
        await this.#events.recordNotice(notice);
      } catch (error) {
        const fields = { ...notice.detail, type: notice.type, err: error };
        this.#log.warn('a change of health could not be recorded', fields);
      }
    });
  }
}

function noticeOf(
  provider: string,
  health: ProviderHealth,
  from: ProviderHealth['state'],
  at: Date,
): Notice {
  const why = health.state === 'healthy' ? {} : { reason: health.reason, remedy: health.remedy };
  return {
    type: `provider.${health.state}`,
    actor: actors.healthMonitor,
    at,
    detail: { provider, from, ...why },
  };
}
