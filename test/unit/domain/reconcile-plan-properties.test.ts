import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planReconcile } from '../../../src/domain/reconcile-plan.ts';
import type { Listing, Survey } from '../../../src/domain/reconcile-plan.ts';
import type { ReconcileAction } from '../../../src/domain/reconcile.ts';
import { containerTypes, workspaceStatuses } from '../../../src/domain/workspace.ts';
import { foundOf, listed, now, rowOf } from './support/reconcile-survey.ts';

describe('planReconcile, whatever is found', () => {
  const ids = fc.constantFrom('a', 'b', 'c', 'd');
  const names = fc.constantFrom('p', 'q', 'r');
  const anyRow = fc
    .record({
      id: ids,
      provider: names,
      status: fc.constantFrom(...workspaceStatuses),
      containerType: fc.constantFrom(...containerTypes),
      announced: fc.boolean(),
      version: fc.integer({ min: 1, max: 2 }),
    })
    .map(rowOf);
  const anyFound = fc
    .record({
      workspaceId: ids,
      state: fc.constantFrom('running' as const, 'stopped' as const),
      hasFiles: fc.boolean(),
      createdAt: fc.constantFrom(now, new Date('2029-01-01T00:00:00Z')),
    })
    .map(foundOf);
  const anyListing: fc.Arbitrary<Listing> = fc.oneof(
    fc.array(anyFound, { maxLength: 4 }).map((found) => listed(...found)),
    fc.constant<Listing>({ state: 'cannot_list' }),
    fc.constant<Listing>({ state: 'failed', reason: 'no engine' }),
  );
  const idSets = fc.subarray(['a', 'b', 'c', 'd']).map((some) => new Set(some));
  const anySurvey: fc.Arbitrary<Survey> = fc.record({
    rows: fc.uniqueArray(anyRow, { selector: ({ id }) => id }),
    abandoned: fc.uniqueArray(anyRow, { selector: ({ id }) => id }),
    settled: idSets,
    listings: fc
      .uniqueArray(fc.tuple(names, anyListing), { selector: ([name]) => name })
      .map((entries) => new Map(entries)),
    known: idSets,
    changing: idSets,
    now: fc.constant(now),
  });
  const anyRules = fc.record({
    minAgeMs: fc.constantFrom(0, 120_000),
    includeUnknown: fc.boolean(),
  });

  function always(holds: (actions: readonly ReconcileAction[], survey: Survey) => void): void {
    fc.assert(
      fc.property(anySurvey, anyRules, (survey, how) => {
        holds(planReconcile(survey, how), survey);
      }),
      { numRuns: 1_000 },
    );
  }

  test('nothing is planned for a provider whose sandboxes could not be listed', () => {
    always((actions, { listings }) => {
      for (const { provider } of actions) {
        expect(['listed', 'cannot_list']).toContain(listings.get(provider)?.state);
      }
    });
  });

  test('no workspace gets two actions', () => {
    always((actions) => {
      const planned = actions.map(({ workspaceId }) => workspaceId);
      expect(planned).toEqual([...new Set(planned)]);
    });
  });

  test('a sandbox whose workspace has a row is never removed', () => {
    always((actions, { rows }) => {
      const owned = rows.map(({ id }) => id);
      for (const { kind, workspaceId } of actions) {
        if (kind === 'remove' || kind === 'keep_unknown') expect(owned).not.toContain(workspaceId);
      }
    });
  });

  test('what this process is changing is left alone', () => {
    always((actions, { changing }) => {
      for (const { workspaceId } of actions) expect(changing.has(workspaceId)).toBe(false);
    });
  });
});
