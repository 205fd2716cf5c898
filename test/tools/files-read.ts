import { expect, test } from 'vitest';
import type { FileBench } from './files.suite.ts';

const lines = (count: number, text = 'line'): string =>
  Array.from({ length: count }, (_, index) => `${text} ${String(index + 1)}\n`).join('');

export function readTests({ tools }: FileBench): void {
  const put = (path: string, content: string | Buffer): Promise<unknown> =>
    tools().sandbox.write(path, Buffer.from(content));

  test('numbers the lines of a whole file', async () => {
    await put('read/three', 'one\n\nthree\n');
    expect(await tools().read('read/three')).toEqual({
      ...{
        kind: 'text',
        path: '/workspace/read/three',
        size: 11,
        content: '1: one\n2: \n3: three',
      },
      ...{ lines: 3, totalLines: 3, lineEnding: 'lf', endsWithNewline: true },
      ...{ truncated: false, nextOffset: null },
    });
  });

  test('an empty file is an empty answer', async () => {
    await put('read/empty', '');
    expect(await tools().read('read/empty')).toEqual({
      ...{ kind: 'text', path: '/workspace/read/empty', size: 0, content: '' },
      ...{ lines: 0, totalLines: 0, lineEnding: null, endsWithNewline: null },
      ...{ truncated: false, nextOffset: null },
    });
  });

  test('shows a window, and says where to read on', async () => {
    await put('read/window', lines(100));
    const window = await tools().read('read/window', { offset: 40, limit: 2 });
    expect(window).toMatchObject({
      ...{ content: '40: line 40\n41: line 41', lines: 2, totalLines: null },
      ...{ truncated: true, nextOffset: 42, endsWithNewline: null },
    });
    const end = await tools().read('read/window', { offset: 99, limit: 2 });
    expect(end).toMatchObject({ lines: 2, totalLines: 100, truncated: false, nextOffset: null });
  });

  test('an offset behind the end is refused with the number of lines', async () => {
    await put('read/short', 'a\nb\nc');
    await expect(tools().read('read/short', { offset: 4 })).rejects.toMatchObject({
      ...{ code: 'invalid_value', message: expect.stringContaining('3 lines') as string },
      details: { lines: 3 },
    });
    await put('read/nothing', '');
    const refused = { code: 'invalid_value', details: { lines: 0 } };
    await expect(tools().read('read/nothing', { offset: 2 })).rejects.toMatchObject(refused);
  });

  test('tells line endings, and a last line without one', async () => {
    await put('read/crlf', 'one\r\ntwo\r\nthree');
    expect(await tools().read('read/crlf')).toMatchObject({
      ...{ content: '1: one\n2: two\n3: three', lineEnding: 'crlf', endsWithNewline: false },
    });
    await put('read/mixed', 'one\r\ntwo\n');
    expect(await tools().read('read/mixed')).toMatchObject({
      ...{ content: '1: one\n2: two', lineEnding: 'mixed', endsWithNewline: true },
    });
  });

  test('ends at 2,000 lines unless told', async () => {
    await put('read/2001', lines(2_001));
    expect(await tools().read('read/2001')).toMatchObject({
      ...{ lines: 2_000, truncated: true, nextOffset: 2_001 },
    });
    expect(await tools().read('read/2001', { limit: 5_000 })).toMatchObject({ lines: 2_001 });
  });

  test('shows at most 50 KB, and the rest from the next offset on', async () => {
    // One line of 50 KB and a byte is cut; as many bytes in lines of 64 take two answers.
    await put('read/one-line', 'x'.repeat(50 * 1024 + 1));
    expect(await tools().read('read/one-line')).toMatchObject({
      ...{ lines: 1, size: 51_201, truncated: false },
      content: `1: ${'x'.repeat(2_000)}… [line cut: 51201 characters]`,
    });
    const content = `${'y'.repeat(63)}\n`.repeat(800) + 'z';
    await put('read/50k', content);
    const first = await tools().read('read/50k');
    expect(first).toMatchObject({ kind: 'text', truncated: true });
    if (first.kind !== 'text' || first.nextOffset === null) throw new Error('not truncated');
    expect(Buffer.byteLength(first.content)).toBeLessThanOrEqual(50 * 1024);
    const rest = await tools().read('read/50k', { offset: first.nextOffset });
    if (rest.kind !== 'text') throw new Error('not a text');
    const shown = `${first.content}\n${rest.content}`.replaceAll(/^\d+: /gm, '');
    expect(shown).toBe(content);
  });

  test('finds a line in 10 MB', async () => {
    await put('read/10mb', lines(900_000));
    expect(await tools().read('read/10mb', { offset: 899_999, limit: 10 })).toMatchObject({
      ...{ content: '899999: line 899999\n900000: line 900000', totalLines: 900_000 },
    });
    expect(await tools().read('read/10mb', { limit: 1 })).toMatchObject({ content: '1: line 1' });
  });

  test('says of a binary file only how large it is', async () => {
    const binary: [string, Buffer][] = [
      ['nul', Buffer.from('text\0text')],
      ['latin1', Buffer.from('caf\xe9\n', 'latin1')],
      ['cut character', Buffer.from('snow ☃').subarray(0, -1)],
      ['random', Buffer.alloc(100_000, Buffer.from([0xc0, 0xff, 0x00]))],
    ];
    for (const [name, content] of binary) {
      await put(`read/binary/${name}`, content);
      const [path, size] = [`/workspace/read/binary/${name}`, content.length];
      expect(await tools().read(path)).toEqual({ kind: 'binary', path, size });
    }
  });

  test('characters across pieces of the transfer are whole', async () => {
    const content = `${'é☃🎉'.repeat(100)}\n`.repeat(3_000);
    await put('read/characters', content);
    expect(await tools().read('read/characters', { offset: 3_000 })).toMatchObject({
      content: `3000: ${'é☃🎉'.repeat(100)}`,
    });
  });

  test('lists a directory in order, with a slash behind directories', async () => {
    await tools().sandbox.sh(`mkdir -p list/b/inner 'list/a b' && cd list && touch -- '-rf' z "new
line" .hidden '$(touch pwned)' && ln -s b to-b && ln -s nowhere to-nothing && ln -s z to-z`);
    const entries = ['$(touch pwned)', '-rf', '.hidden', 'a b/', 'b/'];
    const rest = ['new\nline', 'to-b/', 'to-nothing', 'to-z', 'z'];
    expect(await tools().read('list')).toEqual({
      ...{ kind: 'directory', path: '/workspace/list', entries: [...entries, ...rest] },
      ...{ totalEntries: 10, truncated: false, nextOffset: null },
    });
    expect(await tools().read('list/', { offset: 2, limit: 3 })).toMatchObject({
      ...{ entries: entries.slice(1, 4), totalEntries: 10, truncated: true, nextOffset: 5 },
    });
    expect(await tools().read('list/to-b')).toMatchObject({ entries: ['inner/'] });
    expect(await tools().read('list/b/inner')).toMatchObject({ entries: [], totalEntries: 0 });
    const refused = { code: 'invalid_value', details: { entries: 10 } };
    await expect(tools().read('list', { offset: 11 })).rejects.toMatchObject(refused);
  });

  test('lists names that are not UTF-8 with what JSON has in their place', async () => {
    await tools().sandbox.sh(`mkdir -p odd && : > "odd/$(printf 'bad\\377name')" && : > odd/good`);
    expect(await tools().read('odd')).toMatchObject({
      ...{ entries: ['bad\ufffdname', 'good'], totalEntries: 2 },
    });
    const replaced = tools().read('odd/bad\ufffdname');
    await expect(replaced).rejects.toMatchObject({ code: 'file_not_found' });
  });

  test('follows links to files and directories, and no circles', async () => {
    await put('linked/in/file', 'through\n');
    await tools().sandbox.sh('cd linked && ln -s in to-dir && ln -s to-dir/file to-file');
    for (const path of ['linked/to-file', 'linked/to-dir/file']) {
      expect(await tools().read(path)).toMatchObject({ content: '1: through', size: 8 });
    }
    await tools().sandbox.sh('cd linked && ln -s one two && ln -s two one');
    await expect(tools().read('linked/one')).rejects.toMatchObject({ code: 'invalid_value' });
  });

  test('shows as much of a large directory as fits', async () => {
    await tools().sandbox.sh(
      'mkdir large && cd large && seq 1000 3999 | sed "s/^/$(printf %050d)/" | xargs touch',
    );
    const first = await tools().read('large', { limit: 10_000 });
    expect(first).toMatchObject({ totalEntries: 3_000, truncated: true, nextOffset: 931 });
    const rest = await tools().read('large', { offset: 2_999 });
    const zeros = '0'.repeat(50);
    expect(rest).toMatchObject({ entries: [`${zeros}3998`, `${zeros}3999`], truncated: false });
  });

  test('says what is not there, and what cannot be read', async () => {
    await expect(tools().read('read/missing')).rejects.toMatchObject({ code: 'file_not_found' });
    await tools().sandbox.sh('mkdir -p read && mkfifo read/fifo && ln -s nowhere read/dangling');
    await expect(tools().read('read/fifo')).rejects.toMatchObject({ code: 'invalid_value' });
    await expect(tools().read('read/dangling')).rejects.toMatchObject({ code: 'file_not_found' });
  });
}
