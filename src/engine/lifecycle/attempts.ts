import type { Log } from '../../base/log.ts';
import { reasonOf } from '../../base/reason.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { AttemptCount } from '../engine.ts';
import type { Providers } from '../providers.ts';
import type { Failure } from './candidates.ts';

/** One provider that was tried for a workspace, as its metadata tells. */
export interface Attempt {
  readonly provider: string;
  readonly result: AttemptCount['result'];
  readonly ms: number;
  /** Why it failed. */
  readonly reason?: string;
}

/** Counts the attempts of all creates. */
export class AttemptCounts {
  readonly #counts = new Map<string, AttemptCount>();

  count({ provider, result }: Attempt): void {
    const key = JSON.stringify([provider, result]);
    const count = (this.#counts.get(key)?.count ?? 0) + 1;
    this.#counts.set(key, { provider, result, count });
  }

  all(): readonly AttemptCount[] {
    return [...this.#counts.values()];
  }
}

export interface AttemptsOptions {
  readonly providers: Pick<Providers, 'createFailed' | 'createSucceeded'>;
  readonly counts: AttemptCounts;
  readonly log: Log;
}

/** What follows from a failed attempt. */
export interface AfterFailure {
  /** The provider that is tried instead. */
  readonly next: string | undefined;
  /** It says something about the provider: an automatic choice leaves it out for a while. */
  readonly blamed: boolean;
}

/** The attempts of one create: each is logged, counted and kept, and the next choice of a provider hears of it. */
export class Attempts {
  readonly all: Attempt[] = [];
  readonly #workspace: Workspace;
  readonly #options: AttemptsOptions;

  constructor(workspace: Workspace, options: AttemptsOptions) {
    this.#workspace = workspace;
    this.#options = options;
  }

  succeeded(attempt: Attempt): void {
    const { providers, log } = this.#options;
    const { provider, result, ms } = attempt;
    this.#count(attempt);
    providers.createSucceeded(provider);
    // The pool tells of its own.
    if (this.#workspace.pool !== null) return;
    const message = result === 'adopted' ? 'workspace adopted' : 'workspace created';
    log.info(message, { workspace: this.#workspace.id, provider, ms });
  }

  failed(provider: string, ms: number, why: unknown, { next, blamed }: AfterFailure): void {
    const { providers, log } = this.#options;
    const attempt = { provider, result: 'failed', ms, reason: reasonOf(why) } as const;
    this.all.push(attempt);
    this.#count(attempt);
    if (blamed) providers.createFailed(provider, why);
    const about = { workspace: this.#workspace.id, provider, ms, err: why };
    if (next === undefined) log.warn('create failed', about);
    else log.warn('create failed; falling back to another provider', { ...about, next });
  }

  get failures(): readonly Failure[] {
    return this.all.flatMap(({ provider, reason }) =>
      reason === undefined ? [] : [{ name: provider, reason }],
    );
  }

  /** What is made for a pool nobody has asked for. */
  #count(attempt: Attempt): void {
    if (this.#workspace.pool === null) this.#options.counts.count(attempt);
  }
}
