import { globSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { maxDeferred, scenarios, specs } from '../requirements.ts';
import { findCitations } from '../requirements/citations.ts';
import { gateProblems } from '../requirements/gate.ts';
import { idFor, readSpec } from '../requirements/spec-text.ts';
import type { Scenario } from '../requirements/scenario.ts';

const root = join(import.meta.dirname, '../..');
const specFolder = join(root, 'docs/specs');

describe('the requirements', () => {
  test('hold every spec', () => {
    expect(Object.keys(specs).sort()).toEqual(readdirSync(specFolder).sort());
    expect(scenarios).toHaveLength(88);
  });

  test.each(Object.entries(specs))('say what docs/specs/%s says, in its words', (file, listed) => {
    const written = readSpec(readFileSync(join(specFolder, file), 'utf8'));
    const expected = written.map((scenario) => ({
      id: idFor(file, scenario.scenario),
      ...scenario,
    }));
    expect(listed.map(({ status: _status, ...scenario }) => scenario)).toEqual(expected);
  });

  test('are cited by tests, or deferred with a reason', () => {
    const files = globSync('test/**/*.ts', { cwd: root }).filter(
      (file) => file !== 'test/unit/requirements-gate.test.ts',
    );
    const citations = files.flatMap((file) =>
      findCitations(file, readFileSync(join(root, file), 'utf8')),
    );
    expect(gateProblems(scenarios, citations, maxDeferred)).toEqual([]);
  });
});

describe('findCitations', () => {
  const idsIn = (source: string): unknown[] => findCitations('a.test.ts', source).map((c) => c.id);

  test('finds ids wherever the call stands, with its line', () => {
    const source =
      "for (const p of all) {\n  describe(p, () => { verifies(['a/b', `c/d`], 'n', f); });\n}";
    expect(findCitations('a.test.ts', source)).toEqual([
      { file: 'a.test.ts', line: 2, id: 'a/b' },
      { file: 'a.test.ts', line: 2, id: 'c/d' },
    ]);
  });

  test('is not fooled by comments, strings and other functions', () => {
    expect(
      idsIn("// verifies(['a/b'])\nconst s = \"verifies(['a/b'])\"; test(['a/b'], s);"),
    ).toEqual([]);
  });

  test.each(['verifies(ids, n, f)', 'verifies([id], n, f)', 'verifies([], n, f)', 'verifies()'])(
    'marks %s as unreadable',
    (source) => {
      expect(idsIn(source)).toEqual([undefined]);
    },
  );
});

describe('gateProblems', () => {
  const words = { requirement: 'r', scenario: 's', when: 'w', then: 't' };
  const covered: Scenario = { id: 'a/covered', ...words, status: 'covered' };
  const later: Scenario = { id: 'a/later', ...words, status: { deferred: 'e2b' } };
  const cite = (id: string | undefined) => ({ file: 'x.test.ts', line: 7, id });

  test('is content when what is covered is cited and nothing else', () => {
    expect(gateProblems([covered, later], [cite('a/covered')], 1)).toEqual([]);
  });

  test.each([
    ['an uncited scenario', [covered], [], 0, 'a/covered: covered, but no test cites it'],
    ['an unknown id', [], [cite('a/b')], 0, 'x.test.ts:7: no scenario is called a/b'],
    [
      'an unreadable id',
      [],
      [cite(undefined)],
      0,
      'x.test.ts:7: verifies() needs a list of literal ids',
    ],
    [
      'a cited deferral',
      [later],
      [cite('a/later')],
      1,
      "a/later: a test cites it, so its status must be 'covered'",
    ],
    ['a scenario listed twice', [later, later], [], 2, 'a/later: listed twice'],
    ['too many deferrals', [later], [], 0, '1 scenarios are deferred; at most 0 may be'],
    ['a bound left too high', [later], [], 5, 'lower maxDeferred to 1'],
  ])('reports %s', (_what, listed, citations, bound, problem) => {
    expect(gateProblems(listed, citations, bound)).toEqual([problem]);
  });

  test('reports a deferral without a known capability', () => {
    const vague = { ...later, status: { deferred: 'some day' } } as unknown as Scenario;
    expect(gateProblems([vague], [], 1)).toEqual(['a/later: deferred without a known capability']);
  });
});

describe('readSpec', () => {
  test('refuses a line it would otherwise lose', () => {
    const spec =
      '### Requirement: r\n\n#### Scenario: s\n\n- **WHEN** w\n- **AND** more\n- **THEN** t\n';
    expect(() => readSpec(spec)).toThrow('unexpected line: - **AND** more');
  });
});
