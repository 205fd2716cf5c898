import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { bashDefaults } from '../../src/domain/bash.ts';
import type { BashEvent, BashRequest, BashResult } from '../../src/domain/bash.ts';
import type { WorkspaceProvider } from '../../src/domain/provider.ts';
import { liveBytes } from '../support/live-bytes.ts';

const megabyte = 1_000_000;
/** How much may come before it is looked again at what this process holds. */
const lookEveryBytes = 16 * megabyte;
/** For hundreds of megabytes on a busy machine; less than the commands have. */
const timeout = bashDefaults.timeoutMs - 5_000;

export interface CommandBench {
  readonly start: (command: string) => Promise<AsyncIterable<BashEvent>>;
  readonly run: (command: string, rest?: Partial<BashRequest>) => Promise<BashResult>;
  readonly provider: () => WorkspaceProvider;
}

/** What commands print, from nothing to more than fits anywhere. */
export function outputTests({ start, run, provider }: CommandBench): void {
  /** A provider without isolation has what its sandboxes remember of an output in this process. */
  const ownBytes = async (): Promise<number> => {
    const { isolation } = await provider().capabilities();
    return isolation === 'none' ? 64 * 2 ** 20 : 0;
  };

  test(
    'of 100 MB on each stream: head and tail are kept, every byte is counted',
    { timeout },
    async () => {
      const before = liveBytes();
      let [most, unseen] = [0, 0];
      let result: BashResult | undefined;
      const large = `echo first; head -c ${String(100 * megabyte)} /dev/zero | tr '\\0' x; echo; echo last`;
      for await (const event of await start(`{ ${large}; } & { ${large}; } >&2; wait`)) {
        if (event.type === 'result') result = event.result;
        if ('data' in event) unseen += event.data.length;
        if (unseen < lookEveryBytes) continue;
        unseen = 0;
        most = Math.max(most, liveBytes() - before);
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
      // Far from the 200 MB that came.
      expect(most).toBeLessThan((await ownBytes()) + 96 * megabyte);
    },
  );

  test('of 100 MB is streamed whole', { timeout }, async () => {
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
    const over = await run(`head -c ${String(bashDefaults.keptBytes + 1)} /dev/zero | tr '\\0' x`);
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
}
