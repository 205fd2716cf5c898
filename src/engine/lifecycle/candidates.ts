import { EmergentError } from '../../domain/errors.ts';
import type { SelectionRequest, SelectionRules } from '../../domain/selection.ts';
import type { WorkspaceDefaults } from '../new-workspace.ts';
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

export interface SelectionSettings {
  readonly defaults: Pick<WorkspaceDefaults, 'deploymentMode'>;
  readonly allowUnsandboxed: boolean;
}

/** What holds for a choice among the providers, where the request does not say otherwise. */
export function rulesFor(
  { containerType = 'agent_workspace', deploymentMode }: SelectionRequest,
  { defaults, allowUnsandboxed }: SelectionSettings,
): SelectionRules {
  return {
    allowUnsandboxed,
    containerType,
    deploymentMode: deploymentMode ?? defaults.deploymentMode,
  };
}

/** The providers to try, best first; an explicit choice is the only one. Fails when there is none. */
export async function candidatesFor(
  wanted: string,
  providers: Pick<Providers, 'requireHealthy' | 'select'>,
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

/** The candidates behind those that failed. Fails when there are none. */
export function behind(
  { order, leftOut, explicit }: Candidates,
  failures: readonly Failure[],
): Candidates {
  const failed = new Set(failures.map(({ name }) => name));
  const [next, ...rest] = order.filter((name) => !failed.has(name));
  if (next === undefined) throw noneCan([...leftOut, ...failures]);
  return { order: [next, ...rest], leftOut: [...leftOut, ...failures], explicit };
}
