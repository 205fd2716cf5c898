import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';
import { GuestSandbox } from '../../src/providers/guest/sandbox.ts';
import { bytesOf, chunksOf, collect, Conversation, soon } from '../conformance/sandbox.ts';
import { eventually } from '../support/eventually.ts';
import { TestAgent } from './support/agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await TestAgent.start();
});
afterAll(() => agent[Symbol.asyncDispose]());

function newSandbox(token = agent.token, clock: Clock = systemClock): GuestSandbox & Disposable {
  const sandbox = new GuestSandbox({ dial: agent.dial, token, clock });
  return Object.assign(sandbox, {
    [Symbol.dispose]: () => {
      sandbox.close();
    },
  });
}

async function run(sandbox: GuestSandbox, ...argv: [string, ...string[]]) {
  return collect((await sandbox.exec({ argv }, soon())).events);
}

describe('a sandbox behind a bridge', () => {
  test('says when it is ready, and runs commands', async () => {
    using sandbox = newSandbox();
    await sandbox.ready(soon());
    const script = 'printf out; printf err >&2; pwd; exit 7';
    const { stdout, stderr, exitCode, signal } = await run(sandbox, 'sh', '-c', script);
    expect([stdout.toString(), stderr.toString()]).toEqual([`out${agent.workdir}\n`, 'err']);
    expect([exitCode, signal]).toEqual([7, null]);
  });

  test('commands have the environment that it was given last', async () => {
    using sandbox = newSandbox();
    const show = ['sh', '-c', 'printf "%s %s" "${FIRST-none}" "${SECOND-none}"'] as const;
    await sandbox.adopt({ FIRST: 'one' }, soon());
    expect((await run(sandbox, ...show)).stdout.toString()).toBe('one none');
    await sandbox.adopt({ SECOND: 'two' }, soon());
    expect((await run(sandbox, ...show)).stdout.toString()).toBe('none two');
    const refused = sandbox.adopt({ 'A=B': 'three' }, soon());
    await expect(refused).rejects.toMatchObject({ code: 'invalid_value' });
    await sandbox.adopt({}, soon());
    expect((await run(sandbox, ...show)).stdout.toString()).toBe('none none');
  });

  test('a command talks with its caller and ends by a signal', async () => {
    using sandbox = newSandbox();
    const process = await sandbox.exec({ argv: ['cat'], stdin: true }, soon());
    const conversation = new Conversation(process);
    await conversation.say('hello\n');
    expect(await conversation.line()).toBe('hello');
    await process.kill('SIGTERM');
    expect(await conversation.end()).toMatchObject({ exitCode: 143, signal: 'SIGTERM' });
    await process.kill('SIGTERM');
  });

  test('a caller that gives up while its command starts leaves no command behind', async () => {
    using sandbox = newSandbox();
    await sandbox.ready(soon());
    const release = agent.bridge.holdAnswers();
    const pidFile = join(agent.workdir, 'pid');
    const argv: [string, ...string[]] = ['sh', '-c', 'echo $$ >"$1"; exec cat', 'sh', pidFile];
    const caller = new AbortController();
    const starting = sandbox.exec({ argv, stdin: true }, caller.signal);
    const failed = expect(starting).rejects.toThrow('gone');
    const pid = await eventually(async () => {
      const text = await readFile(pidFile, 'utf8');
      if (!text.endsWith('\n')) throw new Error('not yet');
      return Number(text);
    });
    caller.abort(new Error('gone'));
    await failed;
    release();
    await eventually(() => {
      expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    });
  });

  test('a file goes in and out byte for byte', async () => {
    using sandbox = newSandbox();
    const content = randomBytes(5_000_000);
    const path = join(agent.workdir, 'deep/er/file');
    const info = await sandbox.writeFile(path, chunksOf(content), soon());
    expect(info).toEqual({ path, size: content.length, created: true });
    expect(content.equals(await readFile(path))).toBe(true);
    const file = await sandbox.readFile(path, soon());
    expect(file.size).toBe(content.length);
    expect(content.equals(await bytesOf(file.content))).toBe(true);
  });

  test('a file whose last byte came long before it is read is still whole', async () => {
    using sandbox = newSandbox();
    const content = randomBytes(6 * 2 ** 20);
    const path = join(agent.workdir, 'slow');
    await writeFile(path, content);
    const file = await sandbox.readFile(path, soon());
    const chunks = file.content[Symbol.asyncIterator]();
    const first = await chunks.next();
    // Its window holds the whole file: when this answer is here, so is all of the file.
    await run(sandbox, 'true');
    const seen = createHash('sha256');
    for (let next = first; next.done !== true; next = await chunks.next()) seen.update(next.value);
    expect(seen.digest('hex')).toBe(createHash('sha256').update(content).digest('hex'));
  });

  test('refusals of the agent are errors of their own', async () => {
    using sandbox = newSandbox();
    const missing = sandbox.readFile(join(agent.workdir, 'missing'), soon());
    await expect(missing).rejects.toMatchObject({ code: 'file_not_found' });
    const directory = sandbox.readFile(agent.workdir, soon());
    await expect(directory).rejects.toMatchObject({ code: 'is_directory' });
    const command = sandbox.exec({ argv: ['/no/such/program'] }, soon());
    await expect(command).rejects.toMatchObject({ code: 'invalid_value' });
  });

  test('a body that fails on the way leaves the old file', async () => {
    using sandbox = newSandbox();
    const path = join(agent.workdir, 'kept');
    await writeFile(path, 'old');
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('ne');
      throw new Error('the upload broke');
    }
    await expect(sandbox.writeFile(path, failing(), soon())).rejects.toThrow('the upload broke');
    expect(await readFile(path, 'utf8')).toBe('old');
  });

  test('fifty requests at once share one bridge', async () => {
    using sandbox = newSandbox();
    const before = agent.bridges.length;
    const numbers = Array.from({ length: 50 }, (_, at) => String(at));
    const results = await Promise.all(numbers.map((number) => run(sandbox, 'echo', number)));
    expect(results.map(({ stdout }) => stdout.toString().trim())).toEqual(numbers);
    expect(agent.bridges.length - before).toBe(1);
  });

  test('a wrong token is refused in clear words, whatever is asked', async () => {
    using sandbox = newSandbox('another token');
    const refused = {
      code: 'sandbox_unreachable',
      message: expect.stringMatching(/token/i) as unknown,
    };
    await expect(sandbox.ready(soon())).rejects.toMatchObject(refused);
    await expect(sandbox.exec({ argv: ['true'] }, soon())).rejects.toMatchObject(refused);
    await expect(sandbox.readFile('/etc/hostname', soon())).rejects.toMatchObject(refused);
  });

  test('closing is final: the bridge goes, and nothing dials again', async () => {
    using sandbox = newSandbox();
    await sandbox.ready(soon());
    const { bridge } = agent;
    const count = agent.bridges.length;
    sandbox.close();
    await bridge.closed;
    const refused = { message: expect.stringContaining('closed') as unknown };
    await expect(sandbox.ready(soon())).rejects.toMatchObject(refused);
    await expect(sandbox.exec({ argv: ['true'] }, soon())).rejects.toMatchObject(refused);
    await expect(sandbox.readFile('/etc/hostname', soon())).rejects.toMatchObject(refused);
    expect(agent.bridges.length).toBe(count);
  });

  test('a command that runs when the sandbox is closed fails at once', async () => {
    const pauses: number[] = [];
    using sandbox = newSandbox(agent.token, {
      ...systemClock,
      sleep: (ms, signal) => {
        pauses.push(ms);
        return systemClock.sleep(ms, signal);
      },
    });
    const process = await sandbox.exec({ argv: ['cat'], stdin: true }, soon());
    const output = collect(process.events);
    const failed = expect(output).rejects.toMatchObject({ code: 'sandbox_unreachable' });
    const count = agent.bridges.length;
    pauses.length = 0;
    sandbox.close();
    await failed;
    expect(agent.bridges.length).toBe(count);
    expect(pauses).toEqual([0]);
  });
});
