import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSandbox, selectProviders } from '../../../src/domain/selection.ts';
import type { Candidate, SelectionRules } from '../../../src/domain/selection.ts';
import { anyCandidates, anyRules, broken } from './support/candidates.ts';

const order = (candidates: readonly Candidate[], rules: SelectionRules): readonly Candidate[] =>
  selectProviders(candidates, rules).order.map((name) => byName(candidates, name));

function byName(candidates: readonly Candidate[], name: string): Candidate {
  const found = candidates.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`"${name}" was not among the candidates`);
  return found;
}

const namesOf = (candidates: readonly Candidate[]): readonly string[] =>
  candidates.map(({ name }) => name);

function withoutCoolDowns(candidates: readonly Candidate[]): readonly Candidate[] {
  return candidates.map(({ coolingDown: _, ...rest }) => rest);
}

/** The rules once more, in other words. */
function maySomehowServe(candidate: Candidate, rules: SelectionRules): boolean {
  const { health, managed, isolation } = candidate;
  const place =
    !managed || (rules.containerType === 'agent_workspace' && rules.deploymentMode === 'managed');
  return health.state === 'healthy' && place && (rules.allowUnsandboxed || isSandbox(isolation));
}

const agentFirst = ['microvm', 'gvisor', 'container', 'none'];
const mcpFirst = ['gvisor', 'microvm', 'container', 'none'];

/** Whether `a` must be tried before `b`. */
function precedes(a: Candidate, b: Candidate, { containerType }: SelectionRules): boolean {
  if (isSandbox(a.isolation) !== isSandbox(b.isolation)) return isSandbox(a.isolation);
  if (a.managed !== b.managed) return a.managed;
  const preference = containerType === 'mcp_server' ? mcpFirst : agentFirst;
  return preference.indexOf(a.isolation) < preference.indexOf(b.isolation);
}

describe('whatever the providers and the rules', () => {
  test('every provider is in the order with why, or left out with a reason, never both', () => {
    fc.assert(
      fc.property(anyCandidates, anyRules, (candidates, rules) => {
        const { order: chosen, leftOut, why } = selectProviders(candidates, rules);
        const named = [...chosen, ...leftOut.map(({ name }) => name)];
        expect(named.toSorted()).toEqual(namesOf(candidates).toSorted());
        for (const { reason } of leftOut) expect(reason).not.toBe('');
        expect([...why.keys()]).toEqual(chosen);
        for (const reason of why.values()) expect(reason).not.toBe('');
      }),
    );
  });

  test('exactly those that are healthy, allowed, and rested where another of the kind is', () => {
    fc.assert(
      fc.property(anyCandidates, anyRules, (candidates, rules) => {
        const able = candidates.filter((candidate) => maySomehowServe(candidate, rules));
        const expected = able.filter(
          ({ coolingDown, isolation }) =>
            !coolingDown ||
            !able.some(
              (other) => !other.coolingDown && isSandbox(other.isolation) === isSandbox(isolation),
            ),
        );
        const chosen = selectProviders(candidates, rules).order;
        expect(chosen.toSorted()).toEqual(namesOf(expected).toSorted());
      }),
    );
  });

  test('the better one stands before the worse, and equals as they were given', () => {
    fc.assert(
      fc.property(anyCandidates, anyRules, (candidates, rules) => {
        const chosen = order(candidates, rules);
        for (const [index, later] of chosen.entries()) {
          for (const earlier of chosen.slice(0, index)) {
            expect(precedes(later, earlier, rules)).toBe(false);
            if (precedes(earlier, later, rules)) continue;
            expect(candidates.indexOf(earlier)).toBeLessThan(candidates.indexOf(later));
          }
        }
      }),
    );
  });

  test('one that breaks leaves the others in the order they had', () => {
    fc.assert(
      fc.property(anyCandidates, anyRules, fc.nat(), (candidates, rules, which) => {
        const victim = candidates[which % Math.max(1, candidates.length)]?.name;
        const after = candidates.map((candidate) =>
          candidate.name === victim ? { ...candidate, health: broken } : candidate,
        );
        const before = namesOf(order(candidates, rules)).filter((name) => name !== victim);
        const now = namesOf(order(after, rules));
        expect(now).not.toContain(victim);
        expect(now.filter((name) => before.includes(name))).toEqual(before);
      }),
    );
  });

  test('to allow what is no sandbox only adds to the end', () => {
    fc.assert(
      fc.property(anyCandidates, anyRules, (candidates, rules) => {
        const strict = namesOf(order(candidates, { ...rules, allowUnsandboxed: false }));
        const lax = order(candidates, { ...rules, allowUnsandboxed: true });
        expect(namesOf(lax).slice(0, strict.length)).toEqual(strict);
        const added = lax.slice(strict.length);
        expect(added.some(({ isolation }) => isSandbox(isolation))).toBe(false);
      }),
    );
  });

  test('a cool-down never leaves nobody, and never puts what is no sandbox first', () => {
    fc.assert(
      fc.property(anyCandidates, anyRules, (candidates, rules) => {
        const [first] = order(candidates, rules);
        const [rested] = order(withoutCoolDowns(candidates), rules);
        expect(first === undefined).toBe(rested === undefined);
        expect(isSandbox(first?.isolation ?? 'none')).toBe(isSandbox(rested?.isolation ?? 'none'));
      }),
    );
  });

  test('the same is decided from the same, in whatever order it is told', () => {
    const permuted = anyCandidates.chain((candidates) =>
      fc.tuple(
        fc.constant(candidates),
        fc.shuffledSubarray(candidates, { minLength: candidates.length }),
      ),
    );
    fc.assert(
      fc.property(permuted, anyRules, ([candidates, shuffled], rules) => {
        const before = structuredClone(candidates);
        const decided = selectProviders(candidates, rules);
        expect(selectProviders(candidates, rules)).toEqual(decided);
        expect(candidates).toEqual(before);
        const again = selectProviders(shuffled, rules);
        expect(again.order.toSorted()).toEqual(decided.order.toSorted());
        const reasons = ({ leftOut }: typeof decided): object =>
          new Map(leftOut.map(({ name, reason }) => [name, reason]));
        expect(reasons(again)).toEqual(reasons(decided));
      }),
    );
  });
});
