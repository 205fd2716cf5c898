import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planPool } from '../../../src/domain/pool-plan.ts';
import type { Workspace, WorkspaceStatus } from '../../../src/domain/workspace.ts';
import { newWorkspace } from '../../store/fixtures/workspaces.ts';

type Kind = 'good' | 'dead' | 'old' | 'unknown' | 'creating' | 'creating old' | 'destroying';
const kinds: readonly Kind[] = [
  ...(['good', 'dead', 'old', 'unknown', 'creating', 'creating old', 'destroying'] as const),
];

interface Member {
  readonly kind: Kind;
  readonly row: Workspace;
}

function statusOf(kind: Kind): WorkspaceStatus {
  if (kind.startsWith('creating')) return 'creating';
  return kind === 'destroying' ? 'destroying' : 'warm';
}

function memberOf(kind: Kind, index: number): Member {
  const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
  const poolKey = kind.endsWith('old') ? 'old' : 'now';
  const row: Workspace = {
    ...newWorkspace({ id, pool: 'default', poolKey }),
    ...{ status: statusOf(kind), statusReason: null, readyAt: null, version: 1 },
  };
  return { kind, row };
}

function plan(size: number, key: string | null, all: readonly Kind[]) {
  const members = all.map(memberOf);
  const kindOf = new Map(members.map(({ kind, row }) => [row.id, kind]));
  const { create, retire } = planPool(
    { size, key },
    {
      members: members.map(({ row }) => row),
      runs: ({ id }) => {
        const kind = kindOf.get(id);
        return kind === 'unknown' ? undefined : kind !== 'dead';
      },
    },
  );
  return { create, retired: retire.map(({ member }) => kindOf.get(member.id)), retire };
}

const anyKinds = fc.array(fc.constantFrom(...kinds), { maxLength: 12 });
const anySize = fc.nat({ max: 8 });

function count(all: readonly (Kind | undefined)[], ...wanted: readonly Kind[]): number {
  return all.filter((kind) => kind !== undefined && wanted.includes(kind)).length;
}

describe('planPool', () => {
  test('what is made and what stays is exactly the size, once all of it is done', () => {
    fc.assert(
      fc.property(anySize, anyKinds, (size, all) => {
        const { create, retired } = plan(size, 'now', all);
        const left = count(all, 'good', 'unknown') - count(retired, 'good', 'unknown');
        if (size === 0) expect(retired).toHaveLength(count(all, 'good', 'unknown', 'old', 'dead'));
        const coming = count(all, 'creating');
        expect(left).toBeLessThanOrEqual(size);
        expect(create).toBe(Math.max(0, size - left - coming));
        // Nothing is retired only to be made again.
        if (create > 0) expect(count(retired, 'good', 'unknown')).toBe(0);
      }),
    );
  });

  test('whatever is dead or out of date goes, and nothing that is being made or removed', () => {
    fc.assert(
      fc.property(anySize, anyKinds, (size, all) => {
        const { retired } = plan(size, 'now', all);
        if (size > 0) expect(count(retired, 'dead', 'old')).toBe(count(all, 'dead', 'old'));
        expect(count(retired, 'creating', 'creating old', 'destroying')).toBe(0);
      }),
    );
  });

  test('without knowing what new ones would be, only the dead and what is too many go, and none is made', () => {
    fc.assert(
      fc.property(anySize, anyKinds, (size, all) => {
        const { create, retired } = plan(size, null, all);
        const alive = count(all, 'good', 'old', 'unknown');
        expect(create).toBe(0);
        expect(count(retired, 'dead')).toBe(count(all, 'dead'));
        expect(retired.length - count(retired, 'dead')).toBe(Math.max(0, alive - size));
      }),
    );
  });

  test('a pool that is turned off is too large, whatever its members are', () => {
    const { create, retire } = plan(0, null, ['good', 'old']);
    expect(create).toBe(0);
    expect(retire.map(({ why }) => why)).toEqual(Array(2).fill('the pool has more than its 0'));
  });

  test('each retirement says why', () => {
    const { retire } = plan(1, 'now', ['dead', 'old', 'good', 'good']);
    expect(retire.map(({ why }) => why)).toEqual([
      'its sandbox does not run any more',
      'it is out of date: new ones are made differently',
      'the pool has more than its 1',
    ]);
  });
});
