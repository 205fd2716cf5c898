import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { Bench } from './provider.ts';
import { Conversation } from './sandbox.ts';
import type { TestSandbox } from './sandbox.ts';

export function processTests(bench: Bench): void {
  const startShell = async (script: string): Promise<Conversation> =>
    new Conversation(await bench.shared().start(['sh', '-c', script], { stdin: true }));

  bench.test('ends a command by a signal, and says which', async () => {
    for (const [signal, exitCode] of [
      ['SIGTERM', 143],
      ['SIGINT', 130],
      ['SIGKILL', 137],
      ['SIGHUP', 129],
      ['SIGUSR1', 138],
    ] as const) {
      const talk = await startShell('echo ready; exec sleep 1000');
      await talk.hear('ready');
      await talk.process.kill(signal);
      expect(await talk.end()).toMatchObject({ exitCode, signal });
    }
  });

  bench.test('reports a command that was killed from inside', async () => {
    expect(await bench.shared().sh('kill -KILL $$')).toMatchObject({
      exitCode: 137,
      signal: 'SIGKILL',
    });
  });

  bench.test('kills the whole group, grandchildren too', async () => {
    const talk = await startShell('sleep 1000 & echo $!; wait');
    const grandchild = await talk.line();
    expect(await isRunning(bench.shared(), grandchild)).toBe(true);
    await talk.process.kill('SIGKILL');
    expect(await talk.end()).toMatchObject({ exitCode: 137, signal: 'SIGKILL' });
    await eventually(async () => {
      expect(await isRunning(bench.shared(), grandchild)).toBe(false);
    });
  });

  bench.test('ends the whole group, also those that outlive their leader', async () => {
    const deaf = `trap "" TERM; exec sh -c 'echo $$; exec sleep 1000'`;
    const talk = await startShell(`(${deaf}) & wait`);
    const child = await talk.line();
    await talk.process.end(200);
    expect(await isRunning(bench.shared(), child)).toBe(false);
    expect(await talk.end()).toMatchObject({ exitCode: 143, signal: 'SIGTERM' });
    await talk.process.end(200);
  });

  bench.test('waits no longer for the end of a group than it takes', async () => {
    const talk = await startShell('sleep 1000 & echo ready; wait');
    await talk.hear('ready');
    await talk.process.end(600_000);
    expect(await talk.end()).toMatchObject({ signal: 'SIGTERM' });
  });

  bench.test('lets a command refuse SIGTERM, and ends it with SIGKILL', async () => {
    const talk = await startShell(
      'trap "" TERM; echo ready; read line; echo "got $line"; read more',
    );
    await talk.hear('ready');
    await talk.process.kill('SIGTERM');
    await talk.say('this\n');
    await talk.hear('got this');
    await talk.process.kill('SIGKILL');
    expect(await talk.end()).toMatchObject({ exitCode: 137, signal: 'SIGKILL' });
  });

  bench.test('lets a command handle a signal', async () => {
    // `wait` misses no signal, which `read` may between the last look for one and its system call.
    const talk = await startShell('sleep 1000 & trap "echo caught; exit 7" TERM; echo ready; wait');
    await talk.hear('ready');
    await talk.process.kill('SIGTERM');
    const result = await talk.end();
    expect(result.stdout.toString()).toContain('caught');
    expect(result).toMatchObject({ exitCode: 7, signal: null });
  });

  bench.test('does not mind a signal to what has ended', async () => {
    const process = await bench.shared().start(['true']);
    await new Conversation(process).end();
    await process.kill('SIGTERM');
    await process.kill('SIGKILL');
  });

  bench.test('does not wait for background children, and leaves them running', async () => {
    const sandbox = bench.shared();
    const result = await sandbox.sh('sleep 1000 & echo $!');
    expect(result).toMatchObject({ exitCode: 0, signal: null });
    const pid = result.stdout.toString().trim();
    expect(await isRunning(sandbox, pid)).toBe(true);
    await sandbox.sh(`kill -KILL ${pid}`);
    await eventually(async () => {
      expect(await isRunning(sandbox, pid)).toBe(false);
    });
  });

  bench.test('does not wait for a background child that never stops writing', async () => {
    const sandbox = bench.shared();
    const result = await sandbox.sh('yes & echo $! >&2');
    expect(result).toMatchObject({ exitCode: 0, signal: null });
    await sandbox.sh('kill -KILL "$1"', result.stderr.toString().trim());
  });

  bench.test('delivers all output of a command that leaves a background child', async () => {
    const result = await bench.shared().sh('sleep 1000 & seq 1 20000; kill -KILL $!');
    expect(result.stdout.toString().trimEnd().split('\n')).toHaveLength(20_000);
  });

  bench.test('runs 20 commands at once without mixing them up', async () => {
    const numbers = Array.from({ length: 20 }, (_, index) => String(index));
    const results = await Promise.all(
      numbers.map((number) =>
        bench.shared().sh('for i in 1 2 3; do echo "$1"; echo "$1" >&2; done; exit "$1"', number),
      ),
    );
    for (const [index, result] of results.entries()) {
      const line = `${String(index)}\n`;
      expect(result.stdout.toString()).toBe(line.repeat(3));
      expect(result.stderr.toString()).toBe(line.repeat(3));
      expect(result.exitCode).toBe(index);
    }
  });

  bench.test('gives each running command a pid of its own', async () => {
    const talks = await Promise.all([startShell('read line'), startShell('read line')]);
    expect(new Set(talks.map((talk) => talk.process.pid)).size).toBe(2);
    for (const talk of talks) {
      await talk.process.closeStdin();
      await talk.end();
    }
  });

  bench.test('is not disturbed by a reader that leaves early', async () => {
    const process = await bench.shared().start(['sh', '-c', 'seq 1 1000000; sleep 1000']);
    for await (const event of process.events) {
      if (event.type === 'stdout') break;
    }
    await process.kill('SIGKILL');
    expect((await bench.shared().sh('echo still here')).stdout.toString()).toBe('still here\n');
  });
}

/** A killed process that nobody has reaped yet does not run. */
async function isRunning(sandbox: TestSandbox, pid: string): Promise<boolean> {
  const result = await sandbox.sh('grep -q "^State:[[:space:]]*[RSDTtIW]" "/proc/$1/status"', pid);
  return result.exitCode === 0;
}
