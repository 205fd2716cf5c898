import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Dial } from '../../src/providers/guest/dial.ts';
import { GuestSandbox } from '../../src/providers/guest/sandbox.ts';
import { collect, Conversation, soon } from '../conformance/sandbox.ts';
import { eventually } from '../support/eventually.ts';
import { TestAgent } from './support/agent.ts';

let agent: TestAgent;
let sandboxes: GuestSandbox[];
beforeEach(async () => {
  agent = await TestAgent.start();
  sandboxes = [];
});
afterEach(async () => {
  vi.useRealTimers();
  for (const sandbox of sandboxes) sandbox.close();
  await agent[Symbol.asyncDispose]();
});

function newSandbox(dial: Dial = agent.dial): GuestSandbox {
  const sandbox = new GuestSandbox({ dial, token: agent.token, clock: systemClock });
  sandboxes.push(sandbox);
  return sandbox;
}

/** A shell script that is under way: it has printed its first line. */
async function underWay(sandbox: GuestSandbox, script: string): Promise<Conversation> {
  const conversation = new Conversation(await sandbox.exec({ argv: ['sh', '-c', script] }, soon()));
  await conversation.line();
  return conversation;
}

const polite = "trap 'echo last words; exit 5' TERM; echo ready; while :; do sleep 0.01; done";

describe('terminate', () => {
  test('lets a command say its last words, and its reader hears them although the link is closed at once', async () => {
    const sandbox = newSandbox();
    const commands = await Promise.all([1, 2, 3].map(() => underWay(sandbox, polite)));
    const ends = commands.map((command) => command.end());
    await sandbox.terminate(60_000, soon());
    sandbox.close();
    for (const end of ends) {
      const { stdout, exitCode, signal } = await end;
      expect([stdout.toString(), exitCode, signal]).toEqual(['last words\n', 5, null]);
    }
  });

  test('a long farewell is heard whole, also by who is behind with reading', async () => {
    const sandbox = newSandbox();
    const script =
      "trap 'head -c 6000000 /dev/zero; exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    const command = await sandbox.exec({ argv: ['sh', '-c', script] }, soon());
    const events = command.events[Symbol.asyncIterator]();
    await events.next();
    // Reads on only when the command is long gone, so that nothing but the reader is left to wait for.
    const gone = (): void => {
      expect(() => process.kill(command.pid, 0)).toThrow('ESRCH');
    };
    const end = vi
      .waitFor(gone, { interval: 500, timeout: 30_000 })
      .then(() => collect({ [Symbol.asyncIterator]: () => events }));
    await sandbox.terminate(60_000, soon());
    sandbox.close();
    const { stdout, exitCode } = await end;
    expect([stdout.length, exitCode]).toEqual([6_000_000, 5]);
  });

  test('kills after the grace what does not end by itself', async () => {
    const sandbox = newSandbox();
    const stubborn = "trap '' TERM; echo ready; while :; do sleep 1000; done";
    const command = await underWay(sandbox, stubborn);
    const end = command.end();
    await sandbox.terminate(200, soon());
    sandbox.close();
    expect(await end).toMatchObject({ exitCode: 137, signal: 'SIGKILL' });
  });

  test('reaches what left its process group', async () => {
    const sandbox = newSandbox();
    const pidFile = join(agent.workdir, 'pid');
    const script = `setsid sh -c 'echo $$ >"$0"; exec sleep 1000' ${pidFile} & echo`;
    await underWay(sandbox, script);
    const pid = await eventually(async () => {
      const text = await readFile(pidFile, 'utf8');
      if (!text.endsWith('\n')) throw new Error('not yet');
      return Number(text);
    });
    await sandbox.terminate(60_000, soon());
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  test('refuses commands from then on, and can be asked again', async () => {
    const sandbox = newSandbox();
    await sandbox.terminate(0, soon());
    const refused = { code: 'interrupted' };
    await expect(sandbox.exec({ argv: ['true'] }, soon())).rejects.toMatchObject(refused);
    await sandbox.terminate(0, soon());
  });

  test('a reader that dawdles is not waited for', async () => {
    const sandbox = newSandbox();
    const command = await underWay(sandbox, 'echo ready; yes');
    await sandbox.terminate(60_000, soon());
    expect(await command.end()).toMatchObject({ exitCode: 143, signal: 'SIGTERM' });
  });

  test('gives up soon on a sandbox that does not answer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const silent = new PassThrough();
    silent.read = () => null;
    const sandbox = newSandbox(() => Promise.resolve(silent));
    const failed = expect(sandbox.terminate(10_000, soon())).rejects.toMatchObject({
      code: 'sandbox_unreachable',
    });
    await vi.advanceTimersByTimeAsync(3_000);
    await failed;
  });

  test('gives up on one that stops answering on the way, some time after the grace', async () => {
    const sandbox = newSandbox();
    const command = await underWay(
      sandbox,
      "trap 'echo heard' TERM; echo ready; while :; do sleep 1000; done",
    );
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const failed = expect(sandbox.terminate(60_000, soon())).rejects.toMatchObject({
      name: 'DeadlineError',
    });
    expect(await command.line()).toBe('heard');
    agent.bridge.hang();
    await vi.advanceTimersByTimeAsync(65_000);
    await failed;
    vi.useRealTimers();
    agent.bridge.kill();
    await agent.bridge.closed;
    await command.process.kill('SIGKILL');
    expect(await command.end()).toMatchObject({ exitCode: 137, signal: 'SIGKILL' });
  });
});

test('a caller that goes away while a sandbox is terminated is let go', async () => {
  const sandbox = newSandbox();
  const command = await underWay(sandbox, polite);
  const caller = new AbortController();
  const terminating = sandbox.terminate(60_000, caller.signal);
  caller.abort(new Error('gone'));
  await expect(terminating).rejects.toThrow('gone');
  await command.process.kill('SIGKILL');
  await collect(command.process.events).catch(() => undefined);
});
