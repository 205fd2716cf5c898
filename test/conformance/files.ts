import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { Bench } from './provider.ts';
import { bytesOf, chunksOf, soon } from './sandbox.ts';

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

const hostileNames = [
  'two words',
  ' around ',
  `"double" 'single'`,
  'new\nline',
  '$(touch pwned)',
  '`touch pwned`',
  '-rf',
  '--help',
  '*',
  '?a=b&c=d#fragment',
  '%2e%2e%2fetc',
  'a+b',
  'back\\slash',
  '.hidden',
  '..double',
  'héllo ☃ 漢字 🎉',
  'x'.repeat(255),
];

export function fileTests(bench: Bench): void {
  const contents: [string, Buffer][] = [
    ['an empty file', Buffer.alloc(0)],
    ['one byte', Buffer.from([0])],
    ['every byte value', everyByte],
    ['text without a last newline', Buffer.from('first\r\nsecond')],
    ['10 MB', randomBytes(10 * 2 ** 20)],
  ];
  for (const [what, content] of contents) {
    bench.test(`keeps ${what} byte for byte`, async () => {
      const path = `/workspace/kept/${what}`;
      const written = await bench.shared().write(path, content);
      expect(written).toEqual({ path, size: content.length, created: true });
      expect((await bench.shared().read(path)).equals(content)).toBe(true);
      const seen = await bench.shared().run(['cat', `kept/${what}`]);
      expect(seen.stdout.equals(content)).toBe(true);
    });
  }

  bench.test('joins content that comes in many small chunks', async () => {
    const content = randomBytes(5000);
    await bench.shared().write('/workspace/chunks', chunksOf(content, 7));
    expect((await bench.shared().read('/workspace/chunks')).equals(content)).toBe(true);
  });

  bench.test('takes any file name', async () => {
    const sandbox = bench.shared();
    for (const name of hostileNames) {
      const path = `/workspace/names/${name}`;
      expect(await sandbox.write(path, Buffer.from(name))).toMatchObject({ path });
      expect((await sandbox.read(path)).toString()).toBe(name);
      const seen = await sandbox.run(['cat', '--', name], { workdir: '/workspace/names' });
      expect(seen.stdout.toString()).toBe(name);
    }
    const listed = await sandbox.sh('ls names | wc -l; test -e pwned || test -e names/pwned');
    expect(listed.exitCode).toBe(1);
  });

  bench.test('starts relative paths at /workspace and answers with absolute ones', async () => {
    const sandbox = bench.shared();
    const written = await sandbox.write('relative/./file', Buffer.from('r'));
    expect(written.path).toBe('/workspace/relative/file');
    expect((await sandbox.read('relative/file')).toString()).toBe('r');
    const read = await bench.provider().readFile(sandbox.spec, 'relative/file', soon());
    expect(read).toMatchObject({ path: '/workspace/relative/file', size: 1 });
    await bytesOf(read.content);
  });

  bench.test('makes the parents of a file', async () => {
    await bench.shared().write('/workspace/a/b/c/d/e/deep', Buffer.from('deep'));
    expect((await bench.shared().read('/workspace/a/b/c/d/e/deep')).toString()).toBe('deep');
  });

  bench.test('replaces a file as a whole and keeps its mode', async () => {
    const sandbox = bench.shared();
    await sandbox.write('/workspace/replaced', Buffer.from('a long first version'));
    await sandbox.sh('chmod 750 replaced');
    await sandbox.write('/workspace/replaced', Buffer.from('short'));
    expect((await sandbox.read('/workspace/replaced')).toString()).toBe('short');
    expect((await sandbox.sh('stat -c %a replaced')).stdout.toString()).toBe('750\n');
  });

  bench.test('reads what a command wrote', async () => {
    await bench.shared().sh('mkdir -p by-command && printf "from inside" > by-command/file');
    const content = await bench.shared().read('/workspace/by-command/file');
    expect(content.toString()).toBe('from inside');
  });

  bench.test('says when there is no such file, also below a file', async () => {
    const sandbox = bench.shared();
    await sandbox.write('/workspace/a-file', Buffer.from('x'));
    const missing = { code: 'file_not_found' };
    await expect(sandbox.read('/workspace/missing')).rejects.toMatchObject(missing);
    await expect(sandbox.read('/workspace/missing/too')).rejects.toMatchObject(missing);
    await expect(sandbox.read('/workspace/a-file/below')).rejects.toMatchObject(missing);
  });

  bench.test('does not take a directory for a file', async () => {
    const sandbox = bench.shared();
    await sandbox.sh('mkdir -p a-directory');
    const refused = { code: 'is_directory' };
    await expect(sandbox.read('/workspace/a-directory')).rejects.toMatchObject(refused);
    await expect(sandbox.read('/workspace')).rejects.toMatchObject(refused);
    const write = sandbox.write('/workspace/a-directory', Buffer.from('x'));
    await expect(write).rejects.toMatchObject(refused);
  });

  bench.test('refuses paths that can name no file', async () => {
    const sandbox = bench.shared();
    await sandbox.write('/workspace/in-the-way', Buffer.from('x'));
    const refused = { code: 'invalid_value' };
    for (const path of ['', 'nul\0byte', 'x'.repeat(256), `${'x/'.repeat(2500)}x`]) {
      await expect(sandbox.read(path)).rejects.toMatchObject(refused);
      await expect(sandbox.write(path, Buffer.from('x'))).rejects.toMatchObject(refused);
    }
    const below = sandbox.write('/workspace/in-the-way/below', Buffer.from('x'));
    await expect(below).rejects.toMatchObject(refused);
  });

  bench.test('refuses a FIFO instead of waiting for its other end', async () => {
    await bench.shared().sh('mkfifo pipe');
    const reading = bench.shared().read('/workspace/pipe');
    await expect(reading).rejects.toMatchObject({ code: 'invalid_value' });
  });

  bench.test('keeps the old file and no leftovers when the content fails', async () => {
    const sandbox = bench.shared();
    await sandbox.write('/workspace/source/file', Buffer.from('old'));
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      yield randomBytes(100_000);
      throw new Error('the source broke');
    };
    await expect(sandbox.write('/workspace/source/file', failing())).rejects.toThrow();
    expect((await sandbox.read('/workspace/source/file')).toString()).toBe('old');
    expect((await sandbox.sh('ls -A source')).stdout.toString()).toBe('file\n');
  });

  bench.test('leaves one whole file when several write it at once', async () => {
    const sandbox = bench.shared();
    const versions = Array.from({ length: 5 }, (_, index) => Buffer.alloc(300_000, index));
    await Promise.all(versions.map((version) => sandbox.write('/workspace/raced', version)));
    const final = await sandbox.read('/workspace/raced');
    expect(versions.filter((version) => version.equals(final))).toHaveLength(1);
  });

  bench.test('lets a reader leave early or never begin', async () => {
    const sandbox = bench.shared();
    await sandbox.write('/workspace/large', randomBytes(2 ** 20));
    for (let round = 0; round < 10; round += 1) {
      const unread = await bench.provider().readFile(sandbox.spec, '/workspace/large', soon());
      await unread.content[Symbol.asyncIterator]().return?.();
      const left = await bench.provider().readFile(sandbox.spec, '/workspace/large', soon());
      for await (const chunk of left.content) {
        expect(chunk.length).toBeGreaterThan(0);
        break;
      }
    }
    expect(await sandbox.read('/workspace/large')).toHaveLength(2 ** 20);
  });
}
