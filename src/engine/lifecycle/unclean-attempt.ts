import { reasonOf } from '../../base/reason.ts';
import type { Failure } from './candidates.ts';

/** The row is left to the reconciler, in the hands of `provider`; `why` is for the caller. */
export class UncleanAttempt extends Error {
  override readonly name = 'UncleanAttempt';
  readonly provider: string;
  readonly why: unknown;
  /** `final`: it may have succeeded all the same, or no other may be tried, so nothing is made in its place. */
  readonly kind: 'failed' | 'final';
  /** Of all attempts at the row. */
  readonly failures: readonly Failure[];

  constructor(
    provider: string,
    why: unknown,
    kind: 'failed' | 'final' = 'failed',
    failures: readonly Failure[] = [],
  ) {
    super(reasonOf(why));
    this.provider = provider;
    this.why = why;
    this.kind = kind;
    this.failures = failures;
  }

  among(failures: readonly Failure[], last: boolean): UncleanAttempt {
    return new UncleanAttempt(this.provider, this.why, last ? 'final' : this.kind, failures);
  }
}
