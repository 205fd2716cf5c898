import { describe, expect, test } from 'vitest';
import { FilterTable, chainsOf } from '../../../../../src/providers/gvisor/network/filter-table.ts';
import {
  installation,
  removal,
  rules4,
} from '../../../../../src/providers/gvisor/network/rules.ts';

const policies = ['-P INPUT ACCEPT', '-P FORWARD DROP', '-P OUTPUT ACCEPT'];
const ours = [
  '-N EMERGENT-DNS-0a1b2c',
  '-N EMERGENT-FORWARD-0a1b2c',
  '-N EMERGENT-INPUT-0a1b2c',
  '-N EMERGENT-REFUSE-0a1b2c',
];
const inputJump = '-A INPUT -i emergent-0a1b2c -j EMERGENT-INPUT-0a1b2c';

function table(...lines: string[]): FilterTable {
  return new FilterTable([...policies, ...lines].join('\n'), chainsOf('0a1b2c'));
}

describe('where the jump for forwarded packets goes', () => {
  test.each([
    ['no engine hook', [], ['FORWARD']],
    [
      'the hook first',
      ['-N DOCKER-USER', '-A FORWARD -j DOCKER-USER', '-A FORWARD -i docker0 -j ACCEPT'],
      ['DOCKER-USER'],
    ],
    [
      'the hook behind another rule',
      ['-N DOCKER-USER', '-A FORWARD -j ufw-before', '-A FORWARD -j DOCKER-USER'],
      ['FORWARD', 'DOCKER-USER'],
    ],
    ['the hook without a way to it', ['-N DOCKER-USER'], ['FORWARD', 'DOCKER-USER']],
    [
      'the hook behind our own jump',
      [
        '-N DOCKER-USER',
        '-A FORWARD -i emergent-0a1b2c -j EMERGENT-FORWARD-0a1b2c',
        '-A FORWARD -j DOCKER-USER',
      ],
      ['DOCKER-USER'],
    ],
    [
      "the hook behind another engine's jump",
      [
        '-N DOCKER-USER',
        '-A FORWARD -i emergent-ffffff -j EMERGENT-FORWARD-ffffff',
        '-A FORWARD -j DOCKER-USER',
      ],
      ['DOCKER-USER'],
    ],
    [
      'a hook for some packets only',
      ['-N DOCKER-USER', '-A FORWARD -i a -j DOCKER-USER'],
      ['FORWARD', 'DOCKER-USER'],
    ],
  ])('%s', (_what, lines, hooks) => {
    expect(table(...lines).forwardHooks).toEqual(hooks);
  });
});

describe('installation', () => {
  test('replaces jumps that are there, and touches no rule of others', () => {
    const old = '-A FORWARD -i br-0123456789ab -j EMERGENT-FORWARD-0a1b2c';
    const text = installation(
      table(...ours, inputJump, old, '-A INPUT -j ACCEPT'),
      'emergent-0a1b2c',
      [],
    );
    expect(text.split('\n').filter((line) => /^-[DIXF]/.test(line))).toEqual([
      '-D INPUT -i emergent-0a1b2c -j EMERGENT-INPUT-0a1b2c',
      '-D FORWARD -i br-0123456789ab -j EMERGENT-FORWARD-0a1b2c',
      '-I INPUT 1 -i emergent-0a1b2c -j EMERGENT-INPUT-0a1b2c',
      '-I FORWARD 1 -i emergent-0a1b2c -j EMERGENT-FORWARD-0a1b2c',
    ]);
  });

  test('keeps the name servers of others, adds ours once and no IPv6 one', () => {
    const before = table(...ours, '-A EMERGENT-DNS-0a1b2c -d 10.0.0.53/32 -j ACCEPT');
    const rules = rules4(before, 'emergent-0a1b2c', ['10.0.0.53', '192.168.1.1', 'fd00::53']);
    expect(rules.filter((rule) => rule.startsWith('-A EMERGENT-DNS-0a1b2c'))).toEqual([
      '-A EMERGENT-DNS-0a1b2c -d 10.0.0.53/32 -j ACCEPT',
      '-A EMERGENT-DNS-0a1b2c -d 192.168.1.1/32 -j ACCEPT',
    ]);
  });

  test('takes over nothing from the name server chain but single addresses', () => {
    const before = table(
      ...ours,
      '-A EMERGENT-DNS-0a1b2c -d 10.0.0.0/8 -j ACCEPT',
      '-A EMERGENT-DNS-0a1b2c -j ACCEPT',
    );
    expect(before.nameservers).toEqual([]);
  });
});

test('the rules of another engine on the host are no business of ours', () => {
  const others = [
    '-N EMERGENT-INPUT-ffffff',
    '-A INPUT -i emergent-ffffff -j EMERGENT-INPUT-ffffff',
    '-A EMERGENT-INPUT-ffffff -j DROP',
  ];
  expect(table(...others).hasOwn).toBe(false);
  expect(removal(table(...others))).not.toContain('ffffff');
  expect(installation(table(...others), 'emergent-0a1b2c', [])).not.toContain('ffffff');
});

test('removal deletes the jumps before the chains, and those that others need last', () => {
  expect(removal(table(...ours, inputJump)).split('\n')).toEqual([
    '*filter',
    ...[
      ':EMERGENT-INPUT-0a1b2c',
      ':EMERGENT-FORWARD-0a1b2c',
      ':EMERGENT-DNS-0a1b2c',
      ':EMERGENT-REFUSE-0a1b2c',
    ].map((chain) => `${chain} - [0:0]`),
    '-D INPUT -i emergent-0a1b2c -j EMERGENT-INPUT-0a1b2c',
    ...[
      '-X EMERGENT-INPUT-0a1b2c',
      '-X EMERGENT-FORWARD-0a1b2c',
      '-X EMERGENT-DNS-0a1b2c',
      '-X EMERGENT-REFUSE-0a1b2c',
    ],
    'COMMIT',
    '',
  ]);
});

describe('the fingerprint', () => {
  const installed = [...ours, inputJump, '-A EMERGENT-INPUT-0a1b2c -j EMERGENT-REFUSE-0a1b2c'];
  const { fingerprint } = table(...installed);

  test('is the same with another name server and with rules of others behind ours', () => {
    const dns = '-A EMERGENT-DNS-0a1b2c -d 10.0.0.53/32 -j ACCEPT';
    expect(table(...installed, dns, '-A INPUT -j ACCEPT').fingerprint).toBe(fingerprint);
  });

  test('is the same whether the jump of another engine stands before or behind ours', () => {
    const theirs = '-A INPUT -i emergent-ffffff -j EMERGENT-INPUT-ffffff';
    expect(table(theirs, ...installed).fingerprint).toBe(fingerprint);
    expect(table(...installed, theirs).fingerprint).toBe(fingerprint);
  });

  test.each([
    ['a rule is missing', [...ours, inputJump]],
    ['a jump is missing', [...ours, '-A EMERGENT-INPUT-0a1b2c -j EMERGENT-REFUSE-0a1b2c']],
    ['a jump is not first', ['-A INPUT -j ACCEPT', ...installed]],
    ['the name server chain lets more through', [...installed, '-A EMERGENT-DNS-0a1b2c -j ACCEPT']],
  ])('is another when %s', (_what, lines) => {
    expect(table(...lines).fingerprint).not.toBe(fingerprint);
  });
});
