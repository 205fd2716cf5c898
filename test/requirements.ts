import { e2b } from './requirements/e2b.ts';
import { firecracker } from './requirements/firecracker.ts';
import { gvisor } from './requirements/gvisor.ts';
import { lifecycle } from './requirements/lifecycle.ts';
import { orchestration } from './requirements/orchestration.ts';
import type { Scenario } from './requirements/scenario.ts';

/**
 * Every scenario of docs/specs as data. A test cites the ones it shows with `verifies` from
 * support/verifies.ts; unit/requirements-gate.test.ts holds data, specs and citations together.
 */
export const specs = {
  '000-orchestration.md': orchestration,
  '001-lifecycle.md': lifecycle,
  '002-firecracker.md': firecracker,
  '003-gvisor.md': gvisor,
  '004-e2b.md': e2b,
} as const;

export type RequirementId = (typeof specs)[keyof typeof specs][number]['id'];

export const scenarios: readonly (Scenario & { readonly id: RequirementId })[] =
  Object.values(specs).flat();

export const deferred = scenarios.filter((scenario) => scenario.status !== 'covered');

/** How many scenarios may be deferred. Lower it with every one that becomes covered; never raise it. */
export const maxDeferred = 29;
