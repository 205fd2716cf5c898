import { describe, expect, test } from 'vitest';
import type { Reply } from '../chaos/api-client.ts';
import { UsageError } from '../chaos/options.ts';
import { Journal } from './journal.ts';
import type { Create, Use } from './journal.ts';
import { judge } from './judge.ts';
import type { Kill } from './kills.ts';
import { readArguments } from './options.ts';

type Found = readonly [kind: string, subject: string];

const reply = (status: number, body: unknown = {}): Reply => ({
  outcome: status < 300 ? 'acknowledged' : 'refused',
  status,
  reason: '',
  body: Buffer.from(JSON.stringify(body)),
  ms: 0,
});
const refusal = (providers: readonly { name: string; reason: string }[]): Reply =>
  reply(503, { error: { code: 'provider_unavailable', details: { providers } } });

/** Asked for at 100 and handed out at 200 unless told otherwise. */
function created(changes: Partial<Create> = {}): Create {
  return { id: 'a', warm: true, sentAt: 100, answeredAt: 200, reply: reply(201), ...changes };
}

function failed(what: Use['what'], workspace = created(), at = 210): Use {
  return { what, workspace, sentAt: at, answeredAt: at + 10, complaint: 'no answer' };
}

function findingsOf(
  { creates = [], uses = [] }: { creates?: readonly Create[]; uses?: readonly Use[] },
  faults: { kills?: readonly Kill[]; outage?: Parameters<typeof judge>[0]['outage'] } = {},
): { found: readonly Found[]; excused: number } {
  const journal = new Journal();
  journal.creates.push(...creates);
  journal.uses.push(...uses);
  const found: Found[] = [];
  const findings = { add: (kind: string, subject: string) => void found.push([kind, subject]) };
  const killsOf = (id: string): readonly Kill[] =>
    (faults.kills ?? []).filter((kill) => kill.id === id);
  const { excused } = judge({ journal, killsOf, outage: faults.outage, findings });
  return { found, excused };
}

const kill = (changes: Partial<Kill>): Kill => ({
  ...{ id: 'a', kind: 'process', beganAt: 0, deadAt: 10, after: 'taken' },
  ...changes,
});

describe('what a kill explains', () => {
  const uses = [failed('first command')];

  test.each([
    ['nothing was killed', []],
    ['it was dead before anybody asked for it', [kill({ deadAt: 90 })]],
    ['it was dead and its row still waited', [kill({ beganAt: 110, deadAt: 150, after: 'warm' })]],
    ['another was killed', [kill({ id: 'b', deadAt: 300 })]],
  ])('not a first command that fails when %s', (_, kills) => {
    expect(findingsOf({ uses }, { kills })).toEqual({ found: [['dead', 'a']], excused: 0 });
  });

  test.each([
    ['while it was being handed out', [kill({ beganAt: 90, deadAt: 150 })]],
    ['after it was handed out', [kill({ beganAt: 90, deadAt: 250 })]],
    ['at a time that nobody knows', [kill({ deadAt: undefined })]],
  ])('a first command that fails when it was killed %s', (_, kills) => {
    expect(findingsOf({ uses }, { kills })).toEqual({ found: [], excused: 1 });
  });

  test('no destroy that fails', () => {
    const kills = [kill({ beganAt: 210, deadAt: 250 })];
    const { found } = findingsOf({ uses: [failed('destroy')] }, { kills });
    expect(found).toEqual([['failed', 'a']]);
  });
});

describe('what an outage explains', () => {
  const outage = { stopBeganAt: 90, stoppedAt: 100, startBeganAt: 1_000, recoveredAt: 2_000 };
  const gvisor = [{ name: 'gvisor', reason: 'Docker engine unreachable' }];
  const refused = (changes: Partial<Create>, providers = gvisor): Create =>
    created({ id: undefined, warm: false, reply: refusal(providers), ...changes });

  test('creates that are refused with the reason, and uses that fail', () => {
    const creates = [refused({}), refused({ sentAt: 1_900, answeredAt: 2_100 })];
    const uses = [failed('second command', created(), 500), failed('destroy', created(), 600)];
    expect(findingsOf({ creates, uses }, { outage })).toEqual({ found: [], excused: 4 });
  });

  test.each([
    ['a create without reasons', refused({}, [])],
    ['a create that seems to work', created()],
    ['a create that fails otherwise', refused({ reply: reply(500, { error: {} }) })],
    ['a refusal before', refused({ sentAt: 10, answeredAt: 20 })],
    ['a refusal when all is well again', refused({ sentAt: 2_100, answeredAt: 2_200 })],
  ])('not %s', (_, create) => {
    expect(findingsOf({ creates: [create] }, { outage }).found).toHaveLength(1);
  });

  test('no use that fails when all is well again', () => {
    const uses = [failed('second command', created(), 2_100)];
    expect(findingsOf({ uses }, { outage }).found).toEqual([['failed', 'a']]);
  });
});

describe('the arguments of the load test', () => {
  test('have defaults: sandboxes are killed, or the engine is stopped', () => {
    expect(readArguments([])).toMatchObject({
      ...{ minutes: 1, clients: 20, pool: 5, killEveryMs: 3_000, outageMs: undefined },
      ...{ database: 'pglite', json: false },
    });
    expect(readArguments(['--engine-outage', '2m', '--seed', '7'])).toMatchObject({
      ...{ killEveryMs: undefined, outageMs: 120_000, seed: 7 },
    });
    expect(readArguments(['--help'])).toBeUndefined();
  });

  test.each([
    [['--kill-every', '3'], '--kill-every: "3" is not a time such as 3s'],
    [['--engine-outage', '0s'], '--engine-outage: "0s" is not a time such as 3s'],
    [['--engine-outage', '1s', '--kill-every', '1s'], 'nothing can be killed'],
    [['--pool', '0'], '--pool: "0" is not a number above 0'],
  ])('are refused with a reason: %j', (argv, reason) => {
    expect(() => readArguments(argv)).toThrow(UsageError);
    expect(() => readArguments(argv)).toThrow(reason);
  });
});
