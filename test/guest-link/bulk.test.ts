import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { GuestSandbox } from '../../src/providers/guest/sandbox.ts';
import { bytesOf, chunksOf, soon } from '../conformance/sandbox.ts';
import { FakeClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { TestAgent } from './support/agent.ts';

const large = randomBytes(3_000_000);
const small = randomBytes(1_000);

let agent: TestAgent;
let clock: FakeClock;
let sandbox: GuestSandbox;
beforeEach(async () => {
  agent = await TestAgent.start();
  clock = new FakeClock();
  sandbox = new GuestSandbox({ dial: agent.dial, token: agent.token, clock });
});
afterEach(async () => {
  vi.useRealTimers();
  sandbox.close();
  await agent[Symbol.asyncDispose]();
});

const path = (name: string): string => join(agent.workdir, name);
const write = (name: string, content: Buffer): Promise<unknown> =>
  sandbox.writeFile(path(name), chunksOf(content), soon());
const read = async (name: string): Promise<Buffer> =>
  bytesOf((await sandbox.readFile(path(name), soon())).content);
/** `toEqual` looks at each of millions of bytes by itself. */
const expectSame = (actual: Buffer, expected: Buffer): void => {
  expect(actual.equals(expected)).toBe(true);
};

test('small files share the session; large ones share one more stream', async () => {
  await write('small', small);
  expectSame(await read('small'), small);
  expect(agent.bridges).toHaveLength(1);
  for (let round = 0; round < 3; round++) {
    await write('large', large);
    expectSame(await read('large'), large);
  }
  expect(agent.bridges).toHaveLength(2);
});

test('an unused stream is let go after a minute, and the next large file opens another', async () => {
  await write('small', small);
  await write('large', large);
  const { bridge: bulk } = agent;
  // The minute begins when the stream has been given back, which nothing announces.
  await eventually(async () => {
    await clock.advance(60_000);
    expect(bulk.stream.destroyed).toBe(true);
  });
  expectSame(await read('large'), large);
  expect(agent.bridges).toHaveLength(3);
});

test('readers that do not read lock nobody out', async () => {
  await writeFile(path('large'), Buffer.alloc(30_000_000));
  const stuck = await Promise.all(
    Array.from({ length: 6 }, async () => sandbox.readFile(path('large'), soon())),
  );
  await write('other', large);
  expectSame(await readFile(path('other')), large);
  for (const { content } of stuck) await content[Symbol.asyncIterator]().return?.();
});

test('a refused upload says why and harms no later one', async () => {
  await write('large', large);
  await mkdir(path('directory'));
  await expect(write('directory', large)).rejects.toMatchObject({ code: 'is_directory' });
  await write('large', Buffer.concat([large, small]));
  expectSame(await readFile(path('large')), Buffer.concat([large, small]));
});

test('an agent that hangs ends the transfers that it no longer answers for', async () => {
  await writeFile(path('large'), Buffer.alloc(30_000_000));
  // Its caller never gives up: what ends it is the link.
  const file = await sandbox.readFile(path('large'), new AbortController().signal);
  const failed = expect(bytesOf(file.content)).rejects.toMatchObject({
    code: 'sandbox_unreachable',
  });
  for (const bridge of agent.bridges) bridge.hang();
  // The session's heartbeat: a pause, then a ping that stays unanswered until its deadline.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await clock.whenSleeping();
  await clock.advance(10_000);
  await vi.advanceTimersByTimeAsync(10_000);
  await failed;
});

test('a transfer that is given up while its stream is dialled is not watched for ever', async () => {
  const dialling = Promise.withResolvers<void>();
  const mayCome = Promise.withResolvers<void>();
  const slow = new GuestSandbox({
    dial: async (signal) => {
      dialling.resolve();
      await mayCome.promise;
      return agent.dial(signal);
    },
    token: agent.token,
    clock,
  });
  const caller = new AbortController();
  const written = slow.writeFile(path('large'), chunksOf(large), caller.signal);
  const refused = expect(written).rejects.toMatchObject({ code: 'sandbox_unreachable' });
  await dialling.promise;
  caller.abort();
  await refused;
  mayCome.resolve();
  // Both dials, that of the session and that of the transfer, end; what remains is the minute of the unused stream.
  await eventually(() => {
    expect(agent.bridges).toHaveLength(2);
    expect(clock.sleeping).toBe(1);
  });
  slow.close();
});

test('transfers that end in their middle are told, and nothing else happens', async () => {
  const program = join(import.meta.dirname, 'support/torn-transfers.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  const lost = 'sandbox_unreachable';
  expect(stdout.trimEnd().split('\n')).toEqual([
    `closed: ${lost}, ${lost}, ${lost}`,
    `bridges: ${lost}, ${lost}, ${lost}`,
    `agent: ${lost}, ${lost}, ${lost}`,
    `given up: ${lost}, ${lost}, done`,
    `given up while dialling: ${lost}`,
    'at once: 40',
    'streams: few',
  ]);
});
