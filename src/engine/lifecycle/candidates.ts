import { EmergentError } from '../../domain/errors.ts';
import type { SelectionRules } from '../../domain/selection.ts';
import type { Providers } from '../providers.ts';

/** A provider that will not, or did not, make the workspace. */
export interface Failure {
  readonly name: string;
  readonly reason: string;
}

export interface Candidates {
  readonly order: readonly [string, ...string[]];
  readonly leftOut: readonly Failure[];
  /** The caller named it: its own error is the answer. */
  readonly explicit: boolean;
}

/** The providers to try, best first; an explicit choice is the only one. Fails when there is none. */
export async function candidatesFor(
  wanted: string,
  providers: Providers,
  rules: SelectionRules,
): Promise<Candidates> {
  if (wanted !== 'auto') {
    const { name } = await providers.requireHealthy(wanted);
    return { order: [name], leftOut: [], explicit: true };
  }
  const { order, leftOut } = await providers.select(rules);
  const [first, ...rest] = order;
  if (first === undefined) throw noneCan(leftOut);
  return { order: [first, ...rest], leftOut, explicit: false };
}

export function noneCan(failures: readonly Failure[]): EmergentError {
  const reasons = failures.map(({ name, reason }) => `${name}: ${reason}`).join('; ');
  return new EmergentError(
    'provider_unavailable',
    `no provider can create a workspace: ${reasons}`,
    { details: { providers: failures.map(({ name, reason }) => ({ name, reason })) } },
  );
}

/** The candidates behind the one that failed; undefined: there are none. */
export function behind(
  { order, leftOut, explicit }: Candidates,
  failed: Failure,
): Candidates | undefined {
  const [next, ...rest] = order.slice(order.indexOf(failed.name) + 1);
  return next === undefined
    ? undefined
    : { order: [next, ...rest], leftOut: [...leftOut, failed], explicit };
}
