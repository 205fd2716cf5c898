import { describe, expect, test } from 'vitest';
import type { FoundSandbox } from '../../../src/domain/provider.ts';
import { planReconcile } from '../../../src/domain/reconcile-plan.ts';
import type { Listing, Survey } from '../../../src/domain/reconcile-plan.ts';
import type { ReconcileAction } from '../../../src/domain/reconcile.ts';
import { containerTypes, isChanging, workspaceStatuses } from '../../../src/domain/workspace.ts';
import type { WorkspaceStatus } from '../../../src/domain/workspace.ts';
import { foundOf, listed, now, rowOf, rules, surveyOf } from './support/reconcile-survey.ts';

function kindsOf(survey: Survey, how = rules): readonly ReconcileAction['kind'][] {
  return planReconcile(survey, how).map(({ kind }) => kind);
}

const sandboxes = {
  'runs, files': foundOf(),
  'runs, no files': foundOf({ hasFiles: false }),
  'stopped, files': foundOf({ state: 'stopped' }),
  'stopped, no files': foundOf({ state: 'stopped', hasFiles: false }),
  nothing: undefined,
} as const;
type SandboxCase = keyof typeof sandboxes;

const nothing = {
  'runs, files': null,
  'runs, no files': null,
  'stopped, files': null,
  'stopped, no files': null,
  nothing: null,
} as const;

/** What is done about a row at rest, whatever is said of its operator. */
const atRest: Readonly<
  Partial<Record<WorkspaceStatus, Record<SandboxCase, ReconcileAction['kind'] | null>>>
> = {
  ready: {
    'runs, files': null,
    'runs, no files': null,
    'stopped, files': 'restart',
    'stopped, no files': 'mark_lost',
    nothing: 'mark_lost',
  },
  stopped: {
    'runs, files': 'stop',
    'runs, no files': 'stop',
    'stopped, files': null,
    'stopped, no files': 'mark_lost',
    nothing: 'mark_lost',
  },
  warm: nothing,
  error: nothing,
};

/** What is done about an abandoned change, whatever is left of the sandbox. */
const abandonedChange: Readonly<Partial<Record<WorkspaceStatus, ReconcileAction['kind']>>> = {
  creating: 'finish_create',
  stopping: 'finish_stop',
  resuming: 'finish_resume',
  destroying: 'finish_destroy',
};

const table = workspaceStatuses.flatMap((status) =>
  (Object.keys(sandboxes) as SandboxCase[]).flatMap((sandbox) =>
    [true, false].flatMap((abandoned) =>
      containerTypes.map((containerType) => {
        const finished = abandoned ? (abandonedChange[status] ?? null) : null;
        const expected = isChanging(status) ? finished : (atRest[status]?.[sandbox] ?? null);
        return { status, sandbox, abandoned, containerType, expected };
      }),
    ),
  ),
);

describe('a row and its sandbox', () => {
  test.each(table)(
    '$containerType $status, sandbox: $sandbox, abandoned: $abandoned -> $expected',
    ({ status, sandbox, abandoned, containerType, expected }) => {
      const row = rowOf({ status, containerType });
      const found = sandboxes[sandbox];
      const survey = surveyOf({
        rows: [row],
        abandoned: abandoned ? [row] : [],
        listings: new Map([['p', found ? listed(found) : listed()]]),
      });
      const planned = planReconcile(survey, rules);
      expect(planned.map(({ kind }) => kind)).toEqual(expected === null ? [] : [expected]);
      for (const action of planned) {
        expect(action).toMatchObject({ workspaceId: 'w', provider: 'p', workspace: row });
      }
    },
  );

  test.each([
    ['that this process is changing', { changing: new Set(['w']) }],
    ['of a provider that could not be listed', { listings: failing('p') }],
    ['of a provider that this server does not run', { listings: new Map() }],
  ] as const)('nothing is done about a row %s', (_, overrides) => {
    for (const status of workspaceStatuses) {
      const rows = [rowOf({ status })];
      expect(kindsOf(surveyOf({ rows, abandoned: rows, ...overrides }))).toEqual([]);
    }
  });

  test('where sandboxes cannot be listed, changes are finished and nothing else', () => {
    const listings = new Map<string, Listing>([['p', { state: 'cannot_list' }]]);
    for (const status of workspaceStatuses) {
      const rows = [rowOf({ status })];
      const expected = abandonedChange[status];
      expect(kindsOf(surveyOf({ rows, abandoned: rows, listings }))).toEqual(
        expected === undefined ? [] : [expected],
      );
    }
  });

  test('a row whose status changed while sandboxes were listed is not compared with them', () => {
    for (const status of ['ready', 'stopped'] as const) {
      expect(kindsOf(surveyOf({ rows: [rowOf({ status })], settled: new Set() }))).toEqual([]);
    }
    const rows = [rowOf({ status: 'stopping' })];
    const survey = surveyOf({ rows, abandoned: rows, settled: new Set() });
    expect(kindsOf(survey)).toEqual(['finish_stop']);
  });

  test('an abandoned row that somebody has taken up since is theirs', () => {
    const rows = [rowOf({ status: 'destroying', version: 8 })];
    const abandoned = [rowOf({ status: 'stopping', version: 7 })];
    expect(kindsOf(surveyOf({ rows, abandoned }))).toEqual([]);
  });

  test('a sandbox of the same workspace on another provider is not taken for its own', () => {
    const listings = new Map([
      ['p', listed()],
      ['q', listed(foundOf())],
    ]);
    const rows = [rowOf({ status: 'ready' })];
    expect(kindsOf(surveyOf({ rows, listings }))).toEqual(['mark_lost']);
  });

  test.each([
    ['ready', { state: 'stopped', reason: 'exited with code 137' }, /\(exited with code 137\)/],
    ['ready', { state: 'stopped', hasFiles: false }, /files are gone.*container c, volume v/],
    ['stopped', {}, /was stopped, but its sandbox runs/],
  ] as const)('%s and %o: says %s', (status, overrides, why) => {
    const listings = new Map([['p', listed(foundOf(overrides))]]);
    const [action] = planReconcile(surveyOf({ rows: [rowOf({ status })], listings }), rules);
    expect(action?.why).toMatch(why);
  });

  test.each([
    [true, /its caller knows it, so it is made again/],
    [false, /nobody waits for it, so it is undone/],
  ])('an abandoned creation, announced: %s, says what becomes of it', (announced, why) => {
    const rows = [rowOf({ status: 'creating', announced })];
    const [action] = planReconcile(surveyOf({ rows, abandoned: rows }), rules);
    expect(action?.why).toMatch(why);
  });
});

describe('a sandbox without a row', () => {
  const aged = (ms: number): FoundSandbox =>
    foundOf({ createdAt: new Date(now.getTime() - ms), state: 'stopped' });
  const old = 120_000;

  test.each([
    { ageMs: old, known: true, includeUnknown: false, expected: ['remove'] },
    { ageMs: old, known: false, includeUnknown: false, expected: ['keep_unknown'] },
    { ageMs: old, known: false, includeUnknown: true, expected: ['remove'] },
    { ageMs: old - 1, known: true, includeUnknown: false, expected: [] },
    { ageMs: old - 1, known: false, includeUnknown: true, expected: [] },
    { ageMs: -3_600_000, known: true, includeUnknown: false, expected: [] },
  ])('$ageMs ms old, known: $known, unknown too: $includeUnknown -> $expected', (each) => {
    const found = aged(each.ageMs);
    const survey = surveyOf({
      listings: new Map([['p', listed(found)]]),
      known: new Set(each.known ? ['w'] : []),
    });
    const planned = planReconcile(survey, { ...rules, includeUnknown: each.includeUnknown });
    expect(planned.map(({ kind }) => kind)).toEqual(each.expected);
    for (const action of planned) {
      expect(action).toMatchObject({ workspaceId: 'w', provider: 'p', found });
      expect(action.why).toContain('container c, volume v');
    }
  });

  test('is left alone while this process is at work on it', () => {
    const listings = new Map([['p', listed(foundOf())]]);
    const known = new Set(['w']);
    expect(kindsOf(surveyOf({ listings, known, changing: new Set(['w']) }))).toEqual([]);
  });

  test('is removed once, though it is found on two providers', () => {
    const listings = new Map([
      ['p', listed(foundOf())],
      ['q', listed(foundOf())],
    ]);
    expect(kindsOf(surveyOf({ listings, known: new Set(['w']) }))).toEqual(['remove']);
  });
});

function failing(provider: string): ReadonlyMap<string, Listing> {
  return new Map([[provider, { state: 'failed', reason: 'no engine' }]]);
}
