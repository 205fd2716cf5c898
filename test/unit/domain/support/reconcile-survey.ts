import type { FoundSandbox } from '../../../../src/domain/provider.ts';
import type { Listing, PlanRules, Survey } from '../../../../src/domain/reconcile-plan.ts';
import type { Workspace, WorkspaceStatus } from '../../../../src/domain/workspace.ts';
import { newWorkspace } from '../../../store/fixtures/workspaces.ts';

export const now = new Date('2030-01-01T00:00:00Z');
export const rules: PlanRules = { minAgeMs: 120_000, includeUnknown: false };

type Overrides = Partial<Workspace> & { readonly status: WorkspaceStatus };

export function rowOf(overrides: Overrides): Workspace {
  const row = newWorkspace({ id: 'w', provider: 'p' });
  return { ...row, statusReason: null, readyAt: now, version: 7, ...overrides };
}

export function foundOf(overrides: Partial<FoundSandbox> = {}): FoundSandbox {
  return {
    workspaceId: 'w',
    sandboxName: 'sandbox-w',
    state: 'running',
    hasFiles: true,
    createdAt: new Date('2029-01-01T00:00:00Z'),
    parts: ['container c', 'volume v'],
    ...overrides,
  };
}

export function listed(...found: FoundSandbox[]): Listing {
  return { state: 'listed', found };
}

/** Rows that stood still, on one provider with nothing. */
export function surveyOf(overrides: Partial<Survey> = {}): Survey {
  const rows = overrides.rows ?? [];
  return {
    rows,
    abandoned: [],
    settled: new Set(rows.map(({ id }) => id)),
    listings: new Map([['p', listed()]]),
    known: new Set(),
    changing: new Set(),
    now,
    ...overrides,
  };
}
