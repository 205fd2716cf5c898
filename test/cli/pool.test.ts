import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { cli } from './support/cli.ts';
import type { CliResult } from './support/cli.ts';
import { ScriptedServer } from './support/scripted-server.ts';

const plain = {
  ...{ name: 'default', size: 2, ready: 2, creating: 0, provider: 'gvisor', image: 'base' },
  resource_limits: { cpu: 2, memory: '4G', disk: '10G' },
  ...{ network: 'nat', state: 'ready', reason: null },
};
const python = {
  ...{ ...plain, name: 'python', size: 3, ready: 0, provider: null, image: 'python:3.13' },
  ...{ state: 'blocked', reason: 'the registry\ndoes not answer' },
};
const misses = { empty: 0, no_pool: 0, provider: 0, dead: 0 };

interface Told extends CliResult {
  readonly requests: readonly string[];
  readonly bodies: readonly string[];
}

/** Runs the command against a server that answers with these pools, one after the other; the last stays. */
async function run(answers: readonly object[], ...args: readonly string[]): Promise<Told> {
  const bodies: string[] = [];
  const left = [...answers];
  await using server = await ScriptedServer.start((request, response) => {
    void text(request).then((body) => {
      if (body !== '') bodies.push(body);
      const pools = left.length > 1 ? left.shift() : left[0];
      response.end(
        JSON.stringify({ pools, hits: {}, misses, ...(!Array.isArray(pools) && pools) }),
      );
    });
  });
  const result = await cli(['pool', ...args], { env: server.env });
  return { ...result, requests: server.requests, bodies };
}

test('a table of the pools, why one is not as it should be, and the counts', async () => {
  const counts = { hits: { default: 10, python: 2 }, misses: { ...misses, empty: 2, no_pool: 1 } };
  const { code, stdout, requests } = await run([{ pools: [plain, python], ...counts }]);
  expect(stdout.split('\n')).toEqual([
    'NAME     SIZE  READY  CREATING  STATE    PROVIDER  IMAGE        CPU  MEMORY  DISK  NETWORK',
    'default  2     2      0         ready    gvisor    base         2    4G      10G   nat',
    'python   3     0      0         blocked  -         python:3.13  2    4G      10G   nat',
    'python: the registry does not answer',
    'hits: 12 (default 10, python 2); misses: 3 (empty 2, no_pool 1)',
    '',
  ]);
  expect(code).toBe(0);
  expect(requests).toEqual(['GET /api/v1/agent/workspaces/pool']);
});

test('nothing was counted yet', async () => {
  expect((await run([[plain]])).stdout).toMatch(/^hits: 0; misses: 0$/m);
});

test('--json prints what the server said', async () => {
  const { stdout } = await run([[python]], '--json');
  expect(JSON.parse(stdout)).toEqual({ pools: [python], hits: {}, misses });
});

test.for<[readonly string[], object]>([
  [['resize', '5'], { size: 5 }],
  [['resize', 'python', '3'], { name: 'python', size: 3 }],
  [['resize', '0'], { size: 0 }],
])('%j', async ([args, body]) => {
  const { code, stdout, requests, bodies } = await run([[plain]], ...args);
  expect(requests).toEqual(['PATCH /api/v1/agent/workspaces/pool']);
  expect(bodies.map((sent) => JSON.parse(sent) as unknown)).toEqual([body]);
  expect(stdout).toMatch(/^default /m);
  expect(code).toBe(0);
});

test.for<[readonly string[], string]>([
  [['resize'], 'missing required argument'],
  [['resize', 'python'], '"python" is not a number of sandboxes'],
  [['resize', '-1'], '"-1" is not a number'],
  [['resize', '1.5'], '"1.5" is not a number'],
  [['resize', '5', 'python'], '"python" is not a number'],
  [['resize', 'a', '1', '2'], 'too many arguments'],
  [['resize', '1', '--timeout', 'soon'], 'Write a duration'],
  [['shrink'], 'too many arguments'],
])('%j is refused with the exit code 2', async ([args, says]) => {
  const { code, stderr, requests } = await run([[plain]], ...args);
  expect(stderr).toContain(says);
  expect(code).toBe(2);
  expect(requests).toEqual([]);
});

test('--wait shows how it gets on, and ends when the size is reached', async () => {
  const at = (ready: number, creating: number, state: string) => [
    { ...plain, size: 3, ready, creating, state },
  ];
  const answers = [at(2, 0, 'filling'), at(2, 1, 'filling'), at(3, 0, 'ready')];
  const { code, stdout, stderr, requests } = await run(answers, 'resize', '3', '--wait');
  expect(stderr).toBe('pool default: 2 of 3 ready, 1 being made (filling)\n');
  expect(stdout).toMatch(/^default {2}3 {5}3 {6}0 /m);
  expect(code).toBe(0);
  expect(requests).toHaveLength(3);
});

test('--wait ends with 1 and the reason when there is no more time', async () => {
  const args = ['resize', 'python', '3', '--wait', '--timeout', '1ms'];
  const { code, stdout, stderr } = await run([[python]], ...args);
  expect(stderr).toContain('0 of 3 ready, 0 being made (blocked: the registry does not answer)');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
});

test('what the server refuses is told', async () => {
  await using server = await ScriptedServer.start((_, response) => {
    const error = { code: 'forbidden', message: 'needs an admin', hint: 'Ask one.' };
    response.writeHead(403).end(JSON.stringify({ error }));
  });
  const { code, stderr } = await cli(['pool', 'resize', '1', '--wait'], { env: server.env });
  expect(stderr).toBe('emergent: needs an admin. Ask one.\n');
  expect(code).toBe(1);
});
