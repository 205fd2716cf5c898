import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { GuestSandbox } from '../../src/providers/guest/sandbox.ts';
import { Conversation, soon } from '../conformance/sandbox.ts';
import { TestAgent } from './support/agent.ts';

let agent: TestAgent;
let sandbox: GuestSandbox;
beforeEach(async () => {
  agent = await TestAgent.start();
  sandbox = new GuestSandbox({ dial: agent.dial, token: agent.token, clock: systemClock });
});
afterEach(async () => {
  sandbox.close();
  await agent[Symbol.asyncDispose]();
});

/** A program that tells of each connection that it ends, and a connection to it that has been heard. */
async function connected(): Promise<{ server: Conversation; stream: Duplex }> {
  const script = `
    use Socket; use IO::Handle; $| = 1; socket S, PF_INET, SOCK_STREAM, 0; listen S, 9;
    print unpack("x2n", getsockname S), "\\n";
    while (accept $c, S) {
      $c->autoflush(1); print $c "welcome"; 1 while sysread $c, $b, 999; print "over\\n"; close $c;
    }`;
  const request = { argv: ['perl', '-e', script] as const };
  const server = new Conversation(await sandbox.exec(request, soon()));
  const stream = await sandbox.dial(Number(await server.line()), soon());
  await once(stream, 'readable');
  return { server, stream };
}

test('needs no bridge of its own', async () => {
  const { stream } = await connected();
  expect(agent.bridges).toHaveLength(1);
  stream.destroy();
});

test('one that is destroyed is closed in the sandbox', async () => {
  const { server, stream } = await connected();
  stream.destroy();
  expect(await server.line()).toBe('over');
});

test('one whose link is lost fails, is closed in the sandbox, and the next one works', async () => {
  const { server, stream } = await connected();
  const read = text(stream);
  agent.bridge.kill();
  await expect(read).rejects.toMatchObject({ code: 'sandbox_unreachable' });
  expect(await server.line()).toBe('over');
  const next = await connected();
  next.stream.destroy();
  expect(agent.bridges).toHaveLength(2);
});

test('closes by itself, without an error, when both ends have ended', async () => {
  const { stream } = await connected();
  const read = text(stream);
  stream.end('bye');
  expect(await read).toBe('welcome');
  if (!stream.closed) await once(stream, 'close');
  expect(stream.errored).toBeNull();
});

test('a caller that does not wait is let go, and nothing stays open', async () => {
  const aborted = AbortSignal.abort(new Error('gone'));
  await expect(sandbox.dial(80, aborted)).rejects.toThrow('gone');
  expect(await sandbox.idle(soon())).toMatchObject({ requests: 0 });
});

test('an open one keeps the sandbox from being idle', async () => {
  const { stream } = await connected();
  const { requests } = await sandbox.idle(soon());
  // That of the program that listens, and this one.
  expect(requests).toBe(2);
  stream.destroy();
});
