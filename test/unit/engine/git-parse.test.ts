import { expect, test } from 'vitest';
import {
  parseHead,
  parseNumstat,
  parsePush,
  parseStatus,
} from '../../../src/engine/tools/git/parse.ts';

const zeros = '0'.repeat(40);
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

test('a status with every kind of record', () => {
  const records = [
    `# branch.oid ${zeros}`,
    '# branch.head ma\xc3\xbcn',
    '# branch.upstream origin/main',
    '# branch.ab +3 -12',
    `1 .M N... 100644 100644 100644 ${zeros} ${zeros} with  two spaces`,
    `2 R. N... 100644 100644 100644 ${zeros} ${zeros} R100 new\nname`,
    'old\tname',
    `u UU N... 100644 100644 100644 100644 ${zeros} ${zeros} ${zeros} both`,
    '? bad\xff',
  ];
  expect(parseStatus(latin1(`${records.join('\0')}\0`), false)).toEqual({
    ...{ commit: zeros, branch: 'maün', upstream: 'origin/main', ahead: 3, behind: 12 },
    ...{ clean: false, truncated: false },
    files: [
      { path: 'with  two spaces', escaped: false, kind: 'changed', index: '.', worktree: 'M' },
      {
        ...{ path: 'new\nname', escaped: false, kind: 'renamed', index: 'R', worktree: '.' },
        from: 'old\tname',
      },
      { path: 'both', escaped: false, kind: 'unmerged', index: 'U', worktree: 'U' },
      { path: 'bad\\xff', escaped: true, kind: 'untracked', index: '.', worktree: '?' },
    ],
  });
});

test('a branch without commits, and none', () => {
  const initial = latin1('# branch.oid (initial)\0# branch.head main\0');
  expect(parseStatus(initial, false)).toMatchObject({ commit: null, branch: 'main', clean: true });
  const detached = latin1(`# branch.oid ${zeros}\0# branch.head (detached)\0`);
  expect(parseStatus(detached, false)).toMatchObject({ commit: zeros, branch: null });
  expect(parseHead(Buffer.from(`${zeros}\nHEAD\n`))).toEqual({ commit: zeros, branch: null });
  expect(parseHead(Buffer.from(`${zeros}\nü/x\n`))).toEqual({ commit: zeros, branch: 'ü/x' });
});

test('a record that was cut off is not taken for a name', () => {
  const status = parseStatus(latin1('? whole\0? hal'), true);
  expect(status.files.map(({ path }) => path)).toEqual(['whole']);
  expect(status.truncated).toBe(true);
  expect(parseNumstat(latin1('1\t2\twhole\x003\t4\thal'))).toHaveLength(1);
  expect(parseNumstat(latin1('1\t2\t\x00from\x00hal'))).toEqual([]);
});

test('what is not of the expected form is passed over', () => {
  const garbage = latin1('\0\0x y z\x001 .M\x002 R.\0');
  expect(parseStatus(garbage, false).files).toEqual([]);
  expect(parseNumstat(garbage)).toEqual([]);
  expect(parsePush(garbage)).toEqual([]);
});

test('more files than are answered', () => {
  const many = '? f\0'.repeat(1001);
  const status = parseStatus(latin1(many), false);
  expect(status.files).toHaveLength(1000);
  expect(status.truncated).toBe(true);
});

test('changed lines, of binary files and of renames', () => {
  expect(parseNumstat(latin1('1\t20\ta b\0-\t-\tbin\x000\t0\t\0old\0new\0'))).toEqual([
    { path: 'a b', escaped: false, added: 1, deleted: 20 },
    { path: 'bin', escaped: false, added: null, deleted: null },
    { path: 'new', escaped: false, added: 0, deleted: 0, from: 'old' },
  ]);
});

test('what was pushed', () => {
  const lines = [
    'To file:///x',
    ' \trefs/heads/a:refs/heads/a\t1..2',
    '*\tHEAD:refs/heads/b\t[new branch]',
    '!\trefs/heads/c:refs/heads/c\t[rejected] (fetch first)',
    '-\t:refs/heads/d\t[deleted]',
    'Done',
  ];
  expect(parsePush(Buffer.from(lines.join('\n')))).toEqual([
    { status: 'updated', from: 'refs/heads/a', to: 'refs/heads/a', summary: '1..2' },
    { status: 'created', from: 'HEAD', to: 'refs/heads/b', summary: '[new branch]' },
    {
      ...{ status: 'rejected', from: 'refs/heads/c', to: 'refs/heads/c' },
      summary: '[rejected] (fetch first)',
    },
    { status: 'deleted', from: '', to: 'refs/heads/d', summary: '[deleted]' },
  ]);
});
