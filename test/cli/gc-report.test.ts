import { expect, test } from 'vitest';
import { cli } from './support/cli.ts';
import { ScriptedServer, someId } from './support/scripted-server.ts';

const action = { workspace_id: someId, provider: 'gvisor', reason: null };
const empty = { dry_run: false, actions: [], leftovers: [], blocked: [] };

async function gc(report: object, ...args: string[]): Promise<Awaited<ReturnType<typeof cli>>> {
  await using server = await ScriptedServer.start((_, response) => {
    response.end(JSON.stringify({ ...empty, ...report }));
  });
  return await cli(['gc', ...args], { env: server.env });
}

test('a table of what was done and why, then leftovers and what was blocked', async () => {
  const { code, stdout } = await gc({
    actions: [
      { ...action, kind: 'remove', why: 'no row owns it', result: 'done' },
      { ...action, kind: 'finish_stop', why: 'its server died', result: 'failed', reason: 'no' },
      { ...action, kind: 'keep_unknown', why: 'never heard of', result: null },
    ],
    leftovers: [{ provider: 'gvisor', name: 'volume emergent-agent-1', why: 'an old version' }],
    blocked: [{ provider: 'firecracker', reason: 'the manager does not answer' }],
  });
  expect(stdout.split('\n')).toEqual([
    `ACTION        ${'WORKSPACE'.padEnd(38)}PROVIDER  RESULT  WHY`,
    `remove        ${someId}  gvisor    done    no row owns it`,
    `finish stop   ${someId}  gvisor    failed  its server died; no`,
    `keep unknown  ${someId}  gvisor    kept    never heard of`,
    'removed volume emergent-agent-1 of gvisor: an old version',
    'blocked: firecracker could not be looked at: the manager does not answer',
    '',
  ]);
  expect(code).toBe(1);
});

test('a dry run speaks of what it would do', async () => {
  const { code, stdout } = await gc(
    {
      dry_run: true,
      actions: [{ ...action, kind: 'restart', why: 'it does not run', result: null }],
      leftovers: [{ provider: 'gvisor', name: 'a volume', why: 'old' }],
    },
    '--dry-run',
  );
  expect(stdout).toMatch(
    /restart .* planned +it does not run\nwould remove a volume of gvisor: old/,
  );
  expect(code).toBe(0);
});

test.for([
  { blocked: [{ provider: 'x', reason: 'y' }] },
  { actions: [{ ...action, kind: 'stop', why: 'w', result: 'failed' }] },
])('exit code 1 for %j', async (report) => {
  const { code, stdout } = await gc(report, '--json');
  expect(JSON.parse(stdout)).toEqual({ ...empty, ...report });
  expect(code).toBe(1);
});
