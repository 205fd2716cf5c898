import { expect, test } from 'vitest';
import type { FileBench } from './files.suite.ts';

/** Names that are not UTF-8 are out of reach: JSON cannot say them. */
export const hostileNames = [
  'two words',
  `"double" 'single'`,
  'new\nline',
  '$(touch pwned)',
  '`touch pwned`',
  '-rf',
  '--',
  '*',
  'back\\slash',
  'héllo ☃ 🎉',
  'x'.repeat(255),
];

export function writeTests({ tools }: FileBench): void {
  test('makes parents, and tells a new file from an old one', async () => {
    const path = '/workspace/write/a/b/file';
    expect(await tools().write('write/a/b/file', 'é\n')).toEqual({ path, size: 3, created: true });
    expect(await tools().write(path, '')).toEqual({ path, size: 0, created: false });
    expect(await tools().text(path)).toBe('');
  });

  test('writes what it is given, byte for byte', async () => {
    for (const content of [
      'a\r\nb',
      '\uFEFFbom',
      'nul\0',
      'x'.repeat(51_201),
      'é'.repeat(5_000_000),
    ]) {
      await tools().write('write/exact', content);
      expect(await tools().text('write/exact')).toBe(Buffer.from(content).toString('latin1'));
    }
  });

  test('keeps mode and owner, and leaves a link a link', async () => {
    const script =
      'mkdir -p kept && cd kept && echo old > file && chown 1234:4321 file; chmod 750 file && ln -s file link';
    const stat = async () =>
      (
        await tools().sandbox.sh('cd kept && stat -c "%a %u %g" file && readlink link')
      ).stdout.toString();
    await tools().sandbox.sh(script);
    const before = await stat();
    expect(await tools().write('kept/link', 'new')).toMatchObject({ created: false });
    expect(await tools().text('kept/file')).toBe('new');
    expect(await tools().edit('kept/link', 'new', 'newer')).toMatchObject({ replacements: 1 });
    expect(await tools().text('kept/file')).toBe('newer');
    expect(await stat()).toBe(before);
    expect(before).toMatch(/^750 .*\nfile\n$/);
  });

  test('follows a link that leads nowhere yet', async () => {
    await tools().sandbox.sh('mkdir -p dangling && ln -s made/there dangling/link');
    expect(await tools().write('dangling/link', 'x')).toMatchObject({ created: true });
    expect(await tools().text('dangling/made/there')).toBe('x');
    const { stdout } = await tools().sandbox.sh('readlink dangling/link');
    expect(stdout.toString()).toBe('made/there\n');
  });

  test('takes any name that JSON can say', async () => {
    for (const name of hostileNames) {
      const path = `/workspace/names/${name}`;
      expect(await tools().write(path, `<one> ${name}`)).toMatchObject({ path, created: true });
      expect(await tools().edit(path, '<one>', '<two>')).toMatchObject({ path, replacements: 1 });
      expect(await tools().text(path)).toBe(Buffer.from(`<two> ${name}`).toString('latin1'));
      expect(await tools().read(path)).toMatchObject({ kind: 'text', path });
    }
    const { entries } = (await tools().read('names')) as { entries: readonly string[] };
    expect([...entries].sort()).toEqual([...hostileNames].sort());
    const pwned = await tools().sandbox.sh('test -e pwned || test -e names/pwned');
    expect(pwned.exitCode).toBe(1);
  });

  test('a directory is not a file', async () => {
    await tools().sandbox.sh('mkdir -p a-directory');
    const refused = { code: 'is_directory' };
    await expect(tools().write('a-directory', 'x')).rejects.toMatchObject(refused);
    await expect(tools().edit('a-directory', 'x', 'y')).rejects.toMatchObject(refused);
    await tools().write('in-the-way', 'x');
    const below = tools().write('in-the-way/below', 'x');
    await expect(below).rejects.toMatchObject({ code: 'invalid_value' });
  });
}
