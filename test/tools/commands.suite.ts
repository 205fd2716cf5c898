import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { bashDefaults } from '../../src/domain/bash.ts';
import type { BashEvent, BashRequest, BashResult } from '../../src/domain/bash.ts';
import { startBash } from '../../src/engine/tools/bash.ts';
import type { TestSandbox } from '../conformance/sandbox.ts';
import { newSandbox } from './support/sandboxes.ts';
import type { ToolBench } from './support/sandboxes.ts';

const megabyte = 1_000_000;
/** Long enough for a shell to start on a busy machine. */
const shortMs = 3_000;

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
        },
      );
    const run = async (command: string, rest: Partial<BashRequest> = {}): Promise<BashResult> => {
      for await (const event of await start(command, rest)) {
        if (event.type === 'result') return event.result;
      }
      throw new Error('the command ended without a result');
    };
    const runs = async (pid: string): Promise<boolean> => {
      const { stdout } = await sandbox.sh('ps -o stat= -p "$1" || true', pid);
      return /^[^ZX\s]/.test(stdout.toString());
    };

    /** A provider without isolation has what its sandboxes remember of an output in this process. */
    const ownBytes = async (): Promise<number> => {
      const { isolation } = await bench.provider.capabilities();
      return isolation === 'none' ? 64 * 2 ** 20 : 0;
    };

    describe('output', () => {
      test('of 100 MB on each stream: head and tail are kept, every byte is counted', async () => {
        const before = heldBytes();
        let most = 0;
        let result: BashResult | undefined;
        const large = `echo first; head -c ${String(100 * megabyte)} /dev/zero | tr '\\0' x; echo; echo last`;
        for await (const event of await start(`{ ${large}; } & { ${large}; } >&2; wait`)) {
          most = Math.max(most, heldBytes());
          if (event.type === 'result') result = event.result;
        }
        const bytes = 100 * megabyte + 'first\n\nlast\n'.length;
        expect(result).toMatchObject({
          ...{ exitCode: 0, truncated: true, timedOut: false, background: false },
          ...{ stdoutBytes: bytes, stderrBytes: bytes },
        });
        const cut = `\n[… ${String(bytes - bashDefaults.keptBytes)} bytes left out …]\n`;
        const half = bashDefaults.keptBytes / 2;
        const kept =
          `first\n${'x'.repeat(half - 'first\n'.length)}${cut}` +
          `${'x'.repeat(half - '\nlast\n'.length)}\nlast\n`;
        expect(result?.stdout === kept).toBe(true);
        expect(result?.stderr === kept).toBe(true);
        // Far from the 200 MB that came; what was let go stays until the next collection of garbage.
        expect(most - before).toBeLessThan((await ownBytes()) + 96 * megabyte);
      });

      test('of 100 MB is streamed whole', async () => {
        const line = Buffer.from('0123456789abcde\n');
        const seen = createHash('sha256');
        const command = `yes 0123456789abcde | head -c ${String(100 * megabyte)}`;
        let result: BashResult | undefined;
        for await (const event of await start(command)) {
          if (event.type === 'stdout') seen.update(event.data);
          if (event.type === 'result') result = event.result;
        }
        const expected = createHash('sha256');
        const piece = Buffer.concat(Array.from({ length: megabyte / 16 }, () => line));
        for (let count = 0; count < 100; count++) expected.update(piece);
        expect(seen.digest('hex')).toBe(expected.digest('hex'));
        expect(result).toMatchObject({ stdoutBytes: 100 * megabyte, truncated: true });
      });

      test('that just fits is whole, one byte more is cut', async () => {
        const fits = await run(`head -c ${String(bashDefaults.keptBytes)} /dev/zero | tr '\\0' x`);
        expect(fits).toMatchObject({ truncated: false, stdoutBytes: bashDefaults.keptBytes });
        expect(fits.stdout).toBe('x'.repeat(bashDefaults.keptBytes));
        const over = await run(
          `head -c ${String(bashDefaults.keptBytes + 1)} /dev/zero | tr '\\0' x`,
        );
        expect(over).toMatchObject({ truncated: true, stdoutBytes: bashDefaults.keptBytes + 1 });
        expect(over.stdout).toMatch(/^x+\n\[… 1 bytes left out …\]\nx+$/);
      });

      test('that is not UTF-8 shows what is not a character, and counts bytes', async () => {
        const odd = await run(`printf '\\377\\376\\0abc\\303'; printf '\\303\\274\\n\\200' >&2`);
        expect(odd).toMatchObject({
          ...{ stdout: '\ufffd\ufffd\0abc\ufffd', stdoutBytes: 7 },
          ...{ stderr: 'ü\n\ufffd', stderrBytes: 4, exitCode: 0 },
        });
      });

      test('that there is none of', async () => {
        expect(await run('true')).toMatchObject({
          ...{ stdout: '', stderr: '', stdoutBytes: 0, stderrBytes: 0 },
          ...{ exitCode: 0, signal: null, truncated: false, background: false },
        });
      });
    });

    describe('at the timeout', () => {
      test('a command that ignores SIGTERM is killed, and what it printed is there', async () => {
        const deaf = `trap '' TERM; echo printed; while :; do sleep 1000; done`;
        expect(await run(deaf, { timeoutMs: shortMs })).toMatchObject({
          ...{ stdout: 'printed\n', exitCode: 137, signal: 'SIGKILL' },
          ...{ timedOut: true, background: false },
        });
      });

      test('one that ends by SIGTERM is not killed', async () => {
        const tidy = `trap 'echo tidied; exit 7' TERM; echo printed; sleep 1000 & wait`;
        expect(await run(tidy, { timeoutMs: shortMs })).toMatchObject({
          ...{ stdout: 'printed\ntidied\n', exitCode: 7, signal: null, timedOut: true },
        });
      });

      test.each([
        ['that hold its output', ''],
        ['that hold nothing', '> /dev/null 2>&1'],
      ])('children %s go with it, though they ignore what ended it', async (_, output) => {
        const { stdout, ...result } = await run(
          `(trap '' TERM; exec sleep 100000) ${output} & echo $!; wait`,
          { timeoutMs: shortMs },
        );
        expect(result).toMatchObject({
          ...{ exitCode: 143, signal: 'SIGTERM', timedOut: true, background: false },
        });
        expect(stdout).toMatch(/^\d+\n$/);
        expect(await runs(stdout.trim())).toBe(false);
      });

      test('a command that was stopped ends too', async () => {
        const stopped = await run('echo printed; kill -STOP $$', { timeoutMs: shortMs });
        expect(stopped).toMatchObject({ stdout: 'printed\n', signal: 'SIGTERM', timedOut: true });
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

    test('every exit code', async () => {
      for (let first = 0; first < 256; first += 16) {
        const codes = Array.from({ length: 16 }, (_, index) => first + index);
        const results = await Promise.all(codes.map((code) => run(`exit ${String(code)}`)));
        expect(results.map(({ exitCode }) => exitCode)).toEqual(codes);
        expect(results.every(({ signal }) => signal === null)).toBe(true);
      }
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

    test('nothing else was run', async () => {
      expect((await sandbox.sh('find . -name pwned')).stdout.toString()).toBe('');
    });
  });
}

/** What this process holds, collected or not. */
function heldBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
