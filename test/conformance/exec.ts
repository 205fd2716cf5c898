import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Bench } from './provider.ts';
import { Conversation } from './sandbox.ts';

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const mebibyte = 2 ** 20;

const hostileArguments = [
  'two words',
  '  around  ',
  `"double" and 'single'`,
  'first\nsecond\n',
  '$(echo expanded) `echo expanded` $HOME ${HOME}',
  'héllo wörld ☃ 漢字 🎉',
  '-rf',
  '--',
  '--help',
  '',
  '*',
  '~',
  'a;b|c&d>e<f#g!h',
  '\\n\\\\ %s %d',
  '\ttab\r\n',
  'x'.repeat(100_000),
];

export function execTests(bench: Bench): void {
  bench.test('keeps standard output, standard error and the exit code apart', async () => {
    const result = await bench.shared().sh('echo out; echo err >&2; exit 3');
    expect(result.stdout.toString()).toBe('out\n');
    expect(result.stderr.toString()).toBe('err\n');
    expect(result).toMatchObject({ exitCode: 3, signal: null });
  });

  bench.test('runs a program without a shell', async () => {
    const result = await bench.shared().run(['echo', '$HOME', '&&', 'ls']);
    expect(result.stdout.toString()).toBe('$HOME && ls\n');
    expect(result).toMatchObject({ exitCode: 0, signal: null });
  });

  bench.test('hands on exit codes', async () => {
    for (const code of [0, 1, 2, 42, 126, 127, 137, 255]) {
      const result = await bench.shared().sh(`exit ${String(code)}`);
      expect(result).toMatchObject({ exitCode: code, signal: null });
    }
  });

  bench.test('delivers arguments byte for byte', async () => {
    const result = await bench.shared().sh(String.raw`printf '%s\0' "$@"`, ...hostileArguments);
    expect(result.stdout.toString().split('\0').slice(0, -1)).toEqual(hostileArguments);
  });

  bench.test(
    'gives the environment of the sandbox and of the command, the latter first',
    async () => {
      const env = { BOTH: 'command', EMPTY: '', ODD: `a=b "c" 'd'\n$(e) ☃` };
      const script = 'printf "%s\\0" "$FROM_SPEC" "$BOTH" "${EMPTY-unset}" "$ODD"';
      const result = await bench.shared().run(['sh', '-c', script], { env });
      expect(result.stdout.toString().split('\0')).toEqual(['spec', 'command', '', env.ODD, '']);
    },
  );

  bench.test('finds programs although the command brings an environment of its own', async () => {
    const result = await bench.shared().run(['sh', '-c', 'ls / > /dev/null'], { env: { A: '1' } });
    expect(result).toMatchObject({ exitCode: 0 });
  });

  bench.test('starts in /workspace', async () => {
    const sandbox = bench.shared();
    await sandbox.write('/workspace/here', Buffer.from('found'));
    expect((await sandbox.run(['cat', 'here'])).stdout.toString()).toBe('found');
    const { isolation } = await bench.provider().capabilities();
    if (isolation === 'none') return;
    expect((await sandbox.sh('pwd')).stdout.toString()).toBe('/workspace\n');
  });

  bench.test('starts in the directory that was asked for', async () => {
    const sandbox = bench.shared();
    await sandbox.write('/workspace/some dir/marker', Buffer.from('inside'));
    const result = await sandbox.run(['cat', 'marker'], { workdir: '/workspace/some dir' });
    expect(result.stdout.toString()).toBe('inside');
  });

  bench.test('runs a program named relative to that directory', async () => {
    const sandbox = bench.shared();
    await sandbox.write('/workspace/bin/tool', Buffer.from('#!/bin/sh\necho "tool $1"\n'));
    await sandbox.sh('chmod +x bin/tool');
    const result = await sandbox.run(['./tool', 'works'], { workdir: '/workspace/bin' });
    expect(result.stdout.toString()).toBe('tool works\n');
  });

  bench.test('refuses what cannot be started, and says what', async () => {
    const sandbox = bench.shared();
    await sandbox.write('/workspace/plain-file', Buffer.from('not a program'));
    const refusals = [
      sandbox.start(['no-such-program-here']),
      sandbox.start(['/no/such/program']),
      sandbox.start(['./plain-file']),
      sandbox.start(['']),
      sandbox.start(['echo', 'a\0b']),
      sandbox.start(['true'], { env: { A: 'a\0b' } }),
      sandbox.start(['true'], { workdir: '/workspace/no-such-directory' }),
      sandbox.start(['true'], { workdir: '/workspace/plain-file' }),
    ];
    for (const [index, refused] of (await Promise.allSettled(refusals)).entries()) {
      expect([index, refused]).toEqual([
        index,
        {
          status: 'rejected',
          reason: expect.objectContaining({ code: 'invalid_value' }) as unknown,
        },
      ]);
    }
    await expect(sandbox.start(['no-such-program-here'])).rejects.toThrow(/not found/);
  });

  bench.test('passes every byte value through both outputs', async () => {
    const octal = [...everyByte].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
    const result = await bench.shared().sh(`printf '${octal}'; printf '${octal}' >&2`);
    expect(result.stdout).toEqual(everyByte);
    expect(result.stderr).toEqual(everyByte);
  });

  bench.test('passes 20 MB of output through unharmed', async () => {
    const size = 20 * mebibyte;
    const numbers = Array.from({ length: 3_000_000 }, (_, index) => String(index + 1)).join('\n');
    const result = await bench.shared().sh(`seq 1 3000000 | head -c ${String(size)}`);
    expect(result.stdout).toHaveLength(size);
    expect(sha256(result.stdout)).toBe(sha256(Buffer.from(numbers.slice(0, size))));
    expect(result).toMatchObject({ exitCode: 0, signal: null });
  });

  bench.test('keeps the output for a reader that comes late', async () => {
    const sandbox = bench.shared();
    const early = await sandbox.start(['sh', '-c', 'seq 1 300000; echo done >&2']);
    await sandbox.run(['true']);
    const result = await new Conversation(early).end();
    expect(result.stdout.toString().split('\n')).toHaveLength(300_001);
    expect(result.stderr.toString()).toBe('done\n');
  });

  bench.test('gives a command without input an end of file at once', async () => {
    expect(await bench.shared().run(['cat'])).toMatchObject({ exitCode: 0, signal: null });
  });

  bench.test('converses: output comes while the command still reads', async () => {
    const talk = new Conversation(await bench.shared().start(['cat'], { stdin: true }));
    await talk.say('one\n');
    await talk.hear('one\n');
    await talk.say('two\n');
    await talk.hear('two\n');
    await talk.process.closeStdin();
    expect(await talk.end()).toMatchObject({ exitCode: 0, signal: null });
  });

  bench.test('takes binary input of any size', async () => {
    const input = Buffer.concat(Array.from({ length: 8192 }, () => everyByte));
    const process = await bench.shared().start(['cat'], { stdin: true });
    const reading = new Conversation(process).end();
    for (let at = 0; at < input.length; at += 256 * 1024) {
      await process.writeStdin(input.subarray(at, at + 256 * 1024));
    }
    await process.closeStdin();
    expect(sha256((await reading).stdout)).toBe(sha256(input));
  });
}

function sha256(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
