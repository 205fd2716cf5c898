import { readFile } from 'node:fs/promises';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TarFile } from '../../src/base/tar.ts';
import { TestSandbox, newSpec, soon } from '../conformance/sandbox.ts';
import { Installation } from '../providers/gvisor/support/installation.ts';
import { ScenarioServer } from '../scenarios/support.ts';
import { testHost } from '../support/host.ts';
import { compiled, imageFrom, imageOf } from './support.ts';
import type { TestImage } from './support.ts';

const loader = `/lib/ld-musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`;

describe('an image with one program and nothing else', () => {
  const opened = new AsyncDisposableStack();
  let installation: Installation;
  let program: TarFile;

  beforeAll(async () => {
    installation = opened.use(await Installation.make());
    program = { name: 'who', mode: 0o755, content: await compiled('gcc', '-static') };
  });
  afterAll(() => opened.disposeAsync());

  async function said(image: TestImage): Promise<string> {
    const { provider } = installation;
    await using sandbox = new TestSandbox(provider, newSpec(image.name));
    await provider.create(sandbox.spec, soon());
    return (await sandbox.run(['/who', 'hello'])).stdout.toString();
  }

  test('runs it, as root', async () => {
    await using image = await imageOf(installation.docker, [program]);
    expect(await said(image)).toBe('uid=0 gid=0 groups=0 home=/ cwd=/workspace said=hello\n');
  });

  test('runs it as a user who is a number only', async () => {
    await using image = await imageOf(installation.docker, [program], ['USER 12345:12346']);
    expect(await said(image)).toBe(
      'uid=12345 gid=12346 groups=12346 home=/ cwd=/workspace said=hello\n',
    );
  });

  test('runs it with the home that the image sets', async () => {
    const changes = ['USER 12345', 'ENV HOME=/somewhere'];
    await using image = await imageOf(installation.docker, [program], changes);
    expect(await said(image)).toBe(
      'uid=12345 gid=0 groups=0 home=/somewhere cwd=/workspace said=hello\n',
    );
  });

  test('runs it as a user with a name, in his groups and with his home', async () => {
    const accounts = [
      ['etc/passwd', 'root:x:0:0::/root:\nworker:x:1500:2000::/home/worker:\n'],
      ['etc/group', 'root:x:0:\ncrew:x:2000:\nband:x:2001:worker\n'],
    ].map(([name = '', text = '']) => ({ name, mode: 0o644, content: Buffer.from(text) }));
    const files = [program, ...accounts];
    await using image = await imageOf(installation.docker, files, ['USER worker']);
    expect(await said(image)).toBe(
      'uid=1500 gid=2000 groups=2000,2001 home=/home/worker cwd=/workspace said=hello\n',
    );
  });

  test('runs one that is linked to musl', async () => {
    const musl = { name: 'who', mode: 0o755, content: await compiled('musl-gcc') };
    expect(musl.content.includes(loader)).toBe(true);
    const libc = { name: loader.slice(1), mode: 0o755, content: await readFile(loader) };
    await using image = await imageOf(installation.docker, [musl, libc]);
    expect(await said(image)).toContain('said=hello');
    await using broken = await imageOf(installation.docker, [musl]);
    await expect(said(broken)).rejects.toMatchObject({ code: 'invalid_value' });
  });
});

describe('without a shell', () => {
  const opened = new AsyncDisposableStack();
  let server: ScenarioServer;
  let image: TestImage;
  let id: string;

  beforeAll(async () => {
    // First, so that it goes last: an image that is still used would only lose its name.
    image = opened.use(await imageOf(new Docker(), []));
    server = opened.use(await ScenarioServer.start());
    id = await server.create({ image: image.name });
  });
  afterAll(() => opened.disposeAsync());

  test('bash is refused with the reason', async () => {
    const { status, body } = await server.bash(id, 'true');
    expect([status, body.error.code]).toEqual([422, 'no_shell']);
    expect(body.error.message).toBe(`the image "${image.name}" has neither /bin/bash nor /bin/sh`);
    expect(body.error.hint).toContain(image.name);
    const started = await server.call('POST', `/${id}/processes`, { command: 'true' });
    expect(started.body.error.code).toBe('no_shell');
  });

  test('the tools for files and searching work', async () => {
    const tool = (name: string, body: object) => server.call('POST', `/${id}/${name}`, body);
    const file_path = '/workspace/a/file';
    expect((await tool('write', { file_path, content: 'one\ntwo\n' })).status).toBe(200);
    const edit = { file_path, old_string: 'two', new_string: 'three' };
    expect((await tool('edit', edit)).status).toBe(200);
    expect((await tool('read', { file_path })).body).toMatchObject({
      content: '1: one\n2: three',
    });
    expect((await tool('glob', { pattern: '**' })).body).toMatchObject({ total: 1 });
    expect((await tool('grep', { pattern: 'thr.e' })).body).toMatchObject({
      matches: [{ path: file_path, line: 2 }],
    });
    const git = await tool('git', { action: 'status' });
    expect(git.body.error).toMatchObject({ code: 'git_failed' });
    expect(git.body.error.message).toContain('no git');
  });
});

test('sh runs commands where there is no bash', async () => {
  const { image: base } = await testHost();
  const changes = ['RUN rm -f /bin/bash /usr/bin/bash'];
  await using image = await imageFrom(new Docker(), base, changes);
  await using server = await ScenarioServer.start();
  const id = await server.create({ image: image.name });
  const { body } = await server.bash(id, 'echo "$0"');
  expect(body.stdout).toBe('/bin/sh\n');
});
