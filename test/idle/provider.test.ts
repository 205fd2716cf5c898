import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { withDeadline } from '../../src/base/deadline.ts';
import type { SandboxProcesses } from '../../src/domain/sandbox-processes.ts';
import { ContainerEngine } from '../../src/providers/gvisor/container-engine.ts';
import { ContainerProvider } from '../../src/providers/gvisor/provider.ts';
import { Conversation, bytesOf, chunksOf, soon } from '../conformance/sandbox.ts';
import type { TestSandbox } from '../conformance/sandbox.ts';
import { Installation } from '../providers/gvisor/support/installation.ts';
import { isFrozen, sentryOf, untilFrozen, untilStopped } from './support/frozen.ts';
import { WatchedClock } from './support/watched-clock.ts';

const terminal = { argv: ['sh'], pty: { cols: 80, rows: 24 } } as const;

describe('a sandbox in which nothing runs', () => {
  let installation: Installation;
  let sandbox: TestSandbox;
  let processes: SandboxProcesses;
  const frozen = (): Promise<void> => untilFrozen(installation.docker, sandbox.spec.sandboxName);

  beforeAll(async () => {
    installation = await Installation.make(systemClock, { idleFreezeMs: 200 });
    sandbox = await installation.created();
    ({ processes } = installation.provider);
    await sandbox.write('file', Buffer.from('small'));
    await sandbox.write('large', Buffer.alloc(2 ** 20));
    await processes.start(sandbox.spec, { id: 'ended', argv: ['echo', 'said'] }, soon());
  });
  afterAll(async () => {
    await installation[Symbol.asyncDispose]();
  });

  test.each<[string, () => Promise<unknown>]>([
    ['a command', () => sandbox.sh('true')],
    [
      'the clock inside',
      async () => {
        const { stdout } = await sandbox.sh('date +%s');
        expect(Math.abs(Number(stdout) - systemClock.now().getTime() / 1000)).toBeLessThan(60);
      },
    ],
    ['a small write', () => sandbox.write('file', Buffer.from('other'))],
    ['a small read', () => sandbox.read('file')],
    ['a large write', () => sandbox.write('large', Buffer.alloc(2 ** 20, 1))],
    ['a large read', () => sandbox.read('large')],
    ['the list of processes', () => processes.list(sandbox.spec, soon())],
    [
      'the output of a process',
      async () => {
        const place = { offset: 0, follow: true };
        const output = await processes.attach(sandbox.spec, 'ended', place, soon());
        expect(await Array.fromAsync(output)).toMatchObject([{ type: 'stdout' }, { type: 'exit' }]);
      },
    ],
    [
      'a signal',
      async () => {
        const sent = processes.signal(sandbox.spec, 'ended', 'SIGTERM', soon());
        await expect(sent).rejects.toMatchObject({ code: 'process_not_found' });
      },
    ],
    [
      'a terminal',
      async () => {
        const talk = new Conversation(await sandbox.start(terminal.argv, { pty: terminal.pty }));
        await talk.say('exit 3\n');
        expect(await talk.end()).toMatchObject({ exitCode: 3 });
      },
    ],
    [
      'a resume of what runs',
      () => installation.provider.resume(sandbox.spec, sandbox.spec, soon()),
    ],
    [
      'another server',
      async () => {
        await using other = installation.restarted();
        const { events } = await other.exec(sandbox.spec, { argv: ['true'] }, soon());
        await Array.fromAsync(events);
        // It has gone before it could freeze anything; who looks at what there is does that.
        await installation.provider.list(soon());
      },
    ],
  ])('is frozen, and thawed by %s', async (_, operation) => {
    await frozen();
    await operation();
  });

  test('stays frozen while it is listed, looked at and its provider asked for its health', async () => {
    await frozen();
    const { provider } = installation;
    await using other = installation.restarted();
    for (const one of [provider, other]) {
      expect(await one.list(soon())).toMatchObject([{ state: 'running' }]);
      expect(await one.health(soon())).toMatchObject({ details: { idle_freeze: 'on' } });
      expect(await one.stats(sandbox.spec, soon())).toMatchObject({ frozen: true, processes: 0 });
    }
    expect(await isFrozen(installation.docker, sandbox.spec.sandboxName)).toBe(true);
  });

  test('is thawed though somebody waits for it at the engine, which tells nothing of it then', async () => {
    await frozen();
    const container = installation.docker.getContainer(sandbox.spec.sandboxName);
    const exec = await container.exec({ Cmd: ['true'] });
    const waiting = exec.start({ Detach: true });
    await using other = installation.restarted();
    await other.exec(sandbox.spec, { argv: ['true'] }, soon());
    await waiting;
  });
});

describe('is not frozen', () => {
  let installation: Installation;
  let sandbox: TestSandbox;

  beforeAll(async () => {
    installation = await Installation.make(systemClock, { idleFreezeMs: 200 });
    sandbox = await installation.created();
  });
  afterEach(async () => {
    await sandbox.sh('pkill -KILL sleep; pkill -KILL cat; true');
    await untilFrozen(installation.docker, sandbox.spec.sandboxName);
  });
  afterAll(async () => {
    await installation[Symbol.asyncDispose]();
  });

  /**
   * Also not by a server that has nothing to do with it: it has asked the agent twice, and so has the first one, which
   * began before. The second time that something is found to run, the pause is two seconds.
   */
  async function expectAwake(): Promise<void> {
    const clock = new WatchedClock();
    await using engine = new ContainerEngine({ ...installation.options, clock });
    await using other = new ContainerProvider(engine, installation.options.profile);
    const askedTwice = clock.nextPause(2_000);
    await other.list(soon());
    await withDeadline('asking twice', 45_000, () => askedTwice);
    expect(await isFrozen(installation.docker, sandbox.spec.sandboxName)).toBe(false);
  }

  test('while a detached process runs', async () => {
    const { processes } = installation.provider;
    await processes.start(sandbox.spec, { id: 'detached', argv: ['sleep', '1000'] }, soon());
    await expectAwake();
  });

  test('while a child runs that a command left in the background', async () => {
    await sandbox.sh('setsid sleep 1000 > /dev/null 2>&1 &');
    await expectAwake();
  });

  test('while a terminal is open, attached or not', async () => {
    const { processes } = installation.provider;
    await processes.start(sandbox.spec, { id: 'terminal', ...terminal }, soon());
    await expectAwake();
    await processes.input(sandbox.spec, 'terminal', Buffer.from('exit\n'), soon());
  });

  test('while a command is read', async () => {
    const talk = new Conversation(await sandbox.start(['cat'], { stdin: true }));
    await expectAwake();
    await talk.say('still here\n');
    expect(await talk.line()).toBe('still here');
    await talk.process.closeStdin();
    await talk.end();
  });

  test('while a slow reader has not taken all of a file', async () => {
    const bytes = 64 * 2 ** 20;
    await sandbox.sh(`head -c ${String(bytes)} /dev/zero > big`);
    const { content } = await installation.provider.readFile(sandbox.spec, 'big', soon());
    const chunks = content[Symbol.asyncIterator]();
    const first = await chunks.next();
    await expectAwake();
    const rest = await bytesOf({ [Symbol.asyncIterator]: () => chunks });
    expect((first.value as Uint8Array).length + rest.length).toBe(bytes);
  });

  test('for longer than a moment while it is used, whoever does it', async () => {
    const talk = new Conversation(await sandbox.start(['cat'], { stdin: true }));
    process.kill(await sentryOf(installation.docker, sandbox.spec.sandboxName), 'SIGSTOP');
    await talk.say('still here\n');
    expect(await talk.line()).toBe('still here');
    await talk.process.closeStdin();
    await talk.end();
  });
});

describe('a frozen sandbox', () => {
  let installation: Installation;
  const frozen = async (): Promise<TestSandbox> => {
    const sandbox = await installation.created();
    await sandbox.write('kept', Buffer.from('before'));
    await untilFrozen(installation.docker, sandbox.spec.sandboxName);
    return sandbox;
  };
  beforeAll(async () => {
    installation = await Installation.make(systemClock, { idleFreezeMs: 100 });
  });
  afterAll(async () => {
    await installation[Symbol.asyncDispose]();
  });

  test('is stopped and resumed', async () => {
    const sandbox = await frozen();
    const { provider } = installation;
    await provider.stop(sandbox.spec, soon());
    await provider.resume(sandbox.spec, sandbox.spec, soon());
    await untilFrozen(installation.docker, sandbox.spec.sandboxName);
    expect((await sandbox.read('kept')).toString()).toBe('before');
  });

  test('is stopped, resumed and destroyed by a server that did not freeze it', async () => {
    const sandbox = await frozen();
    await using other = installation.restarted();
    await other.stop(sandbox.spec, soon());
    await other.resume(sandbox.spec, sandbox.spec, soon());
    await untilFrozen(installation.docker, sandbox.spec.sandboxName);
    await using third = installation.restarted();
    await third.destroy(sandbox.spec, soon());
    expect(await installation.hasVolume(sandbox.spec)).toBe(false);
  });

  test('of a killed server is replaced by a create of the same name', async () => {
    // It does nothing more until all is over.
    await using killed = installation.restarted();
    const { spec } = installation.sandbox();
    await killed.create(spec, soon());
    await killed.writeFile(spec, 'old', chunksOf(Buffer.from('old')), soon());
    await untilFrozen(installation.docker, spec.sandboxName);
    await installation.provider.create(spec, soon());
    const reading = installation.provider.readFile(spec, 'old', soon());
    await expect(reading).rejects.toMatchObject({ code: 'file_not_found' });
  });
});

test('none of 200 uses hangs that meet a freeze', async () => {
  const idleFreezeMs = 1;
  await using installation = await Installation.make(systemClock, { idleFreezeMs });
  const sandbox = await installation.created();
  const sentry = await sentryOf(installation.docker, sandbox.spec.sandboxName);
  await using other = installation.restarted();
  for (let round = 0; round < 200; round += 1) {
    const path = `file-${String(round)}`;
    await sandbox.write(path, Buffer.from(path));
    // Up to a few milliseconds: before, during and after the freezing; now and then surely after it.
    if (round % 10 === 9) await untilStopped(sentry);
    else await systemClock.sleep((round % 10) * 0.7);
    const by = round % 3 === 0 ? other : installation.provider;
    const { content } = await by.readFile(sandbox.spec, path, soon());
    expect((await bytesOf(content)).toString()).toBe(path);
    if (round % 20 === 0) await sandbox.sh('true');
  }
}, 180_000);
