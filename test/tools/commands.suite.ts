import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { bashDefaults } from '../../src/domain/bash.ts';
import type { BashEvent, BashRequest, BashResult } from '../../src/domain/bash.ts';
import { startBash } from '../../src/engine/tools/bash.ts';
import type { BashSurroundings } from '../../src/engine/tools/bash.ts';
import type { TestSandbox } from '../conformance/sandbox.ts';
import { FakeClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { outputTests } from './commands-output.ts';
import { withGrace } from './support/grace.ts';
import { newSandbox } from './support/sandboxes.ts';
import type { ToolBench } from './support/sandboxes.ts';

/** Commands that are large, deaf, many or odd, with the same values on every provider. */
export function commandSuite(name: string, open: () => Promise<ToolBench>): void {
  describe(`commands on ${name}`, { meta: { runsOn: name } }, () => {
    let bench: ToolBench;
    let sandbox: TestSandbox;
    beforeAll(async () => {
      bench = await open();
      sandbox = await newSandbox(bench);
    });
    afterAll(async () => {
      await sandbox.destroy();
      await bench[Symbol.asyncDispose]();
    });

    const start = (
      command: string,
      rest: Partial<BashRequest> = {},
      changes: Partial<BashSurroundings> = {},
    ): Promise<AsyncIterable<BashEvent>> =>
      startBash(
        { command, timeoutMs: bashDefaults.timeoutMs, ...rest },
        {
          provider: bench.provider,
          ref: sandbox.spec,
          workspace: sandbox.spec,
          processId: randomUUID(),
          clock: systemClock,
          signal: new AbortController().signal,
          leaving: new AbortController().signal,
          wasInterrupted: async () => false,
          ...changes,
        },
      );
    const run = async (command: string, rest: Partial<BashRequest> = {}): Promise<BashResult> => {
      for await (const event of await start(command, rest)) {
        if (event.type === 'result') return event.result;
      }
      throw new Error('the command ended without a result');
    };
    const stateOf = async (pid: string): Promise<string> =>
      (await sandbox.sh('ps -o stat= -p "$1" || true', pid)).stdout.toString();
    const runs = async (pid: string): Promise<boolean> => /^[^ZX\s]/.test(await stateOf(pid));
    /** The time of its timeout passes when it has said "ready" and `before` is done; it has `graceMs` to end. */
    const runOut = async (
      command: string,
      graceMs: number,
      before: (said: string) => Promise<void> = async () => undefined,
    ): Promise<BashResult> => {
      const clock = new FakeClock();
      const timeoutMs = 60_000;
      let said = '';
      const provider = withGrace(bench.provider, graceMs);
      for await (const event of await start(command, { timeoutMs }, { clock, provider })) {
        if (event.type === 'result') return event.result;
        if (event.type !== 'stdout' || said.includes('ready\n')) continue;
        said += Buffer.from(event.data).toString();
        if (!said.includes('ready\n')) continue;
        await before(said);
        await clock.advance(timeoutMs);
      }
      throw new Error('the command ended without a result');
    };

    describe('at the timeout', () => {
      /** For commands that do not end by themselves, and for those that do. */
      const [shortGraceMs, longGraceMs] = [300, 40_000];

      test('a command that ignores SIGTERM is killed, and what it printed is there', async () => {
        const deaf = `trap '' TERM; echo ready; while :; do sleep 1000; done`;
        expect(await runOut(deaf, shortGraceMs)).toMatchObject({
          ...{ stdout: 'ready\n', exitCode: 137, signal: 'SIGKILL' },
          ...{ timedOut: true, background: false },
        });
      });

      test('one that ends by SIGTERM is not killed', async () => {
        // The child before the trap: one that is just being forked would swallow the signal.
        const tidy = `sleep 1000 & trap 'echo tidied; exit 7' TERM; echo ready; wait`;
        expect(await runOut(tidy, longGraceMs)).toMatchObject({
          ...{ stdout: 'ready\ntidied\n', exitCode: 7, signal: null, timedOut: true },
        });
      });

      test.each([
        ['that hold its output', ''],
        ['that hold nothing', '> /dev/null 2>&1'],
      ])('children %s go with it, though they ignore what ended it', async (_, output) => {
        const deaf = `deaf-${randomUUID()}`;
        const { stdout, ...result } = await runOut(
          `(trap '' TERM; : > ${deaf}; exec sleep 100000) ${output} & echo $!
           until test -e ${deaf}; do sleep 0.01; done; echo ready; wait`,
          shortGraceMs,
        );
        expect(result).toMatchObject({
          ...{ exitCode: 143, signal: 'SIGTERM', timedOut: true, background: false },
        });
        expect(stdout).toMatch(/^\d+\nready\n$/);
        expect(await runs(stdout.split('\n')[0] ?? '')).toBe(false);
      });

      test('a command that was stopped ends too', async () => {
        const stopped = await runOut(
          'echo $$; echo ready; kill -STOP $$',
          longGraceMs,
          async (said) => {
            await eventually(async () => {
              expect(await stateOf(said.split('\n')[0] ?? '')).toMatch(/^T/);
            });
          },
        );
        expect(stopped).toMatchObject({ signal: 'SIGTERM', timedOut: true });
        expect(stopped.stdout).toMatch(/^\d+\nready\n$/);
      });
    });

    describe('background children', () => {
      test.each([
        ['that hold its output', 'sleep 100000 & echo $!'],
        ['that hold nothing', 'sleep 100000 > /dev/null 2>&1 & echo $!'],
        [
          'that go on writing',
          '{ while echo more; do sleep 0.2; done; } 2>/dev/null & echo $! >&2',
        ],
        ['under nohup', 'nohup sleep 100000 > /dev/null 2>&1 & echo $!'],
      ])('%s are not waited for, live on, and are told of', async (_, command) => {
        const result = await run(command);
        expect(result).toMatchObject({ exitCode: 0, signal: null, background: true });
        const pid = (result.stderr || result.stdout).trim();
        expect(await runs(pid)).toBe(true);
        await sandbox.sh('kill -KILL "$1"', pid);
      });

      test('that are waited for are not left behind', async () => {
        const waited = await run('sleep 0.2 & sleep 0.1 & wait; echo all');
        expect(waited).toMatchObject({ stdout: 'all\n', background: false });
      });
    });

    test('200 at once: all are answered, none is mixed up with another', async () => {
      const numbers = Array.from({ length: 200 }, (_, index) => index);
      const results = await Promise.all(
        numbers.map((number) =>
          run(`echo "$N"; echo "err $N" >&2; exit "$N"`, { env: { N: String(number) } }),
        ),
      );
      for (const [number, result] of results.entries()) {
        expect(result).toMatchObject({
          ...{ stdout: `${String(number)}\n`, stderr: `err ${String(number)}\n` },
          ...{ exitCode: number, signal: null, timedOut: false },
        });
      }
    });

    test('every exit code, with those of the test before', async () => {
      const codes = Array.from({ length: 56 }, (_, index) => 200 + index);
      const results = await Promise.all(codes.map((code) => run(`exit ${String(code)}`)));
      expect(results.map(({ exitCode }) => exitCode)).toEqual(codes);
      expect(results.every(({ signal }) => signal === null)).toBe(true);
    });

    test.each([
      ['SIGHUP', 129],
      ['SIGINT', 130],
      ['SIGABRT', 134],
      ['SIGKILL', 137],
      ['SIGSEGV', 139],
      ['SIGPIPE', 141],
      ['SIGTERM', 143],
    ])('death by %s', async (signal, exitCode) => {
      const result = await run(
        `echo printed; ulimit -c 0; kill -${signal.slice(3)} $$; sleep 1000`,
      );
      expect(result).toMatchObject({ stdout: 'printed\n', exitCode, signal, timedOut: false });
    });

    test('a command line of 100 KB', async () => {
      const text = `it's "quoted" $(touch pwned) `.repeat(3_500);
      const command = `md5sum <<'END'\n${text}\nEND`;
      expect(command.length).toBeGreaterThan(100_000);
      const digest = createHash('md5').update(`${text}\n`).digest('hex');
      expect(await run(command)).toMatchObject({ stdout: `${digest}  -\n`, exitCode: 0 });
    });

    test('an environment of 1 MB, and what no system takes', async () => {
      const many = Object.fromEntries(
        Array.from({ length: 10 }, (_, index) => [`V${String(index)}`, 'v'.repeat(100_000)]),
      );
      expect(await run('echo "${#V0} ${#V9}"', { env: many })).toMatchObject({
        stdout: '100000 100000\n',
      });
      const one = { env: { BIG: 'b'.repeat(200_000) } };
      await expect(run('true', one)).rejects.toMatchObject({ code: 'invalid_value' });
    });

    test.each<[string, string, Partial<BashRequest>]>([
      ['a NUL in the command', 'echo a\0b', {}],
      ['a NUL in the environment', 'true', { env: { A: 'a\0b' } }],
      ['a directory that is missing', 'true', { workdir: 'no/such' }],
      ['a directory that is a file', 'true', { workdir: 'a-file' }],
    ])('%s is refused, and nothing runs', async (_, command, rest) => {
      await sandbox.sh(': > a-file');
      await expect(run(command, rest)).rejects.toMatchObject({
        code: 'invalid_value',
        ...(rest.workdir !== undefined && {
          message: expect.stringContaining(rest.workdir) as string,
        }),
      });
    });

    test('reads an end of file where it expects input', async () => {
      const result = await run('cat; read -r line || echo "end after [$line]"');
      expect(result).toMatchObject({ stdout: 'end after []\n', exitCode: 0 });
    });

    // Last: what they leave in this process makes each fork after them slow.
    describe('output', () => {
      outputTests({ start, run, provider: () => bench.provider });
    });

    test('nothing else was run', async () => {
      expect((await sandbox.sh('find . -name pwned')).stdout.toString()).toBe('');
    });
  });
}
