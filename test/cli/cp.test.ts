import { randomBytes } from 'node:crypto';
import { mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestServer } from './support/server.ts';

describe('cp', () => {
  let server: TestServer;
  let id: string;

  beforeAll(async () => {
    server = await TestServer.start();
    id = await server.create();
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  const cp = (...args: string[]) => server.run(['cp', ...args], { cwd: server.files });
  const remote = async (path: string): Promise<Buffer> => (await cp(`${id}:${path}`, '-')).bytes;

  test('five megabytes of arbitrary bytes go in and out unchanged', async () => {
    const bytes = randomBytes(5_000_000);
    await writeFile(join(server.files, 'data.bin'), bytes);
    expect(await cp('data.bin', `${id}:a b/data.bin`)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(await cp(`${id.slice(0, 8)}:/workspace/a b/data.bin`, 'back.bin')).toMatchObject({
      code: 0,
    });
    expect(bytes.equals(await readFile(join(server.files, 'back.bin')))).toBe(true);
  });

  test('a directory as the target keeps the name of the file', async () => {
    await writeFile(join(server.files, 'name.txt'), 'content');
    await mkdir(join(server.files, 'into'), { recursive: true });
    await cp('name.txt', `${id}:`);
    await cp('name.txt', `${id}:below/`);
    expect((await remote('name.txt')).toString()).toBe('content');
    expect((await remote('/workspace/below/name.txt')).toString()).toBe('content');
    await cp(`${id}:below/name.txt`, 'into');
    expect(await readFile(join(server.files, 'into/name.txt'), 'utf8')).toBe('content');
  });

  test('standard input and output', async () => {
    const input = randomBytes(300_000);
    expect(await server.run(['cp', '-', `${id}:stdin.bin`], { input })).toMatchObject({ code: 0 });
    expect(input.equals(await remote('stdin.bin'))).toBe(true);
    expect(await server.run(['cp', '-', `${id}:empty`], { input: '' })).toMatchObject({ code: 0 });
    expect((await remote('empty')).length).toBe(0);
  });

  test('--json tells path and size', async () => {
    await writeFile(join(server.files, 'small'), 'four');
    const sent = await cp('--json', 'small', `${id}:small`);
    expect(JSON.parse(sent.stdout)).toEqual({ path: '/workspace/small', size: 4 });
    const got = await cp('--json', `${id}:small`, 'small2');
    expect(JSON.parse(got.stdout)).toEqual({ path: 'small2', size: 4 });
  });

  test('an existing file keeps its mode, a link its place, a device its nature', async () => {
    const target = join(server.files, 'script.sh');
    await writeFile(target, 'old', { mode: 0o755 });
    await symlink('script.sh', join(server.files, 'link'));
    await cp('-', `${id}:script`);
    expect(await cp(`${id}:script`, 'link')).toMatchObject({ code: 0 });
    expect(await readFile(target, 'utf8')).toBe('');
    expect((await stat(target)).mode & 0o777).toBe(0o755);
    expect(await cp(`${id}:script`, '/dev/null')).toMatchObject({ code: 0 });
    expect((await stat('/dev/null')).isCharacterDevice()).toBe(true);
  });

  test('what cannot be copied is explained, and nothing is left behind', async () => {
    await mkdir(join(server.files, 'folder'), { recursive: true });
    const folder = await cp('folder', `${id}:`);
    expect(folder.stderr).toMatch(
      /^emergent: folder is a directory; cp copies one file\. Pack it: tar /,
    );
    expect(folder.code).toBe(1);
    const missing = await cp('nothing-here', `${id}:`);
    expect(missing.stderr).toBe('emergent: there is no file nothing-here\n');
    const before = await readdir(server.files);
    const remoteMissing = await cp(`${id}:nothing-there`, 'target');
    expect(remoteMissing).toMatchObject({ code: 1 });
    expect(remoteMissing.stderr).toMatch(/^emergent: .*nothing-there does not exist/);
    const remoteFolder = await cp(`${id}:.`, 'target');
    expect(remoteFolder.stderr).toMatch(/Pack it: emergent exec \S+ -- tar -C \. -cf - \./);
    const noParent = await cp(`${id}:empty`, 'no/such/target');
    expect(noParent.stderr).toContain('there is no directory no/such');
    expect(await readdir(server.files)).toEqual(before);
  });

  test('a refusal ends a large upload early, and its reason is told', async () => {
    const nowhere = '00000000-0000-4000-8000-000000000000';
    await writeFile(join(server.files, 'large'), Buffer.alloc(20_000_000));
    const { code, stderr } = await cp('large', `${nowhere}:large`);
    expect(stderr).toMatch(new RegExp(`^emergent: there is no workspace ${nowhere}\\. `));
    expect(code).toBe(1);
  });

  test('exactly one side is in a workspace', async () => {
    for (const [sides, message] of [
      [['a', 'b'], 'neither side is in a workspace'],
      [['1f0c:a', '1f0c:b'], 'both sides are in a workspace'],
      [['-', '1f0c:'], 'standard input has no name'],
    ] as const) {
      const { code, stderr } = await cp(...sides);
      expect(stderr).toContain(`emergent: ${message}. `);
      expect(code).toBe(2);
    }
  });
});
