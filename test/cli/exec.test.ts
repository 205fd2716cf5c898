import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeClock } from '../support/clock.ts';
import { TestServer } from './support/server.ts';

describe('exec', () => {
  const clock = new FakeClock(new Date());
  let server: TestServer;
  let id: string;

  beforeAll(async () => {
    server = await TestServer.start(clock);
    id = await server.create();
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test('keeps output apart and passes the exit code on', async () => {
    const script = 'echo out; echo err >&2; exit 7';
    const { code, stdout, stderr } = await server.run(['exec', id, '--', 'sh', '-c', script]);
    expect({ code, stdout, stderr }).toEqual({ code: 7, stdout: 'out\n', stderr: 'err\n' });
  });

  test('the arguments arrive exactly as given', async () => {
    const args = [
      '',
      'a b',
      "it's",
      '$HOME',
      '*',
      '"',
      '\\',
      'a\nb',
      '-x',
      '--json',
      ';',
      'ü',
      '`id`',
      '!',
    ];
    const { stdout } = await server.run(['exec', id, '--', 'printf', '<%s>', ...args]);
    expect(stdout).toBe(args.map((argument) => `<${argument}>`).join(''));
  });

  test('a first word that means something to the shell is only a name', async () => {
    for (const word of ['if', 'A=b', '$(echo pwd)']) {
      const { code, stderr } = await server.run(['exec', id, '--', word]);
      expect(code).toBe(127);
      expect(stderr).toContain('not found');
    }
  });

  test('takes a directory and variables, before or after the id', async () => {
    await server.run(['exec', id, '--', 'mkdir', '-p', 'some/dir']);
    const print = ['sh', '-c', 'basename "$PWD"; echo $A $B'];
    const options = ['--workdir', 'some/dir', '--env', 'A=1'];
    const after = await server.run(['exec', id, ...options, '--env', 'B=2', '--', ...print]);
    expect(after.stdout).toBe('dir\n1 2\n');
    const before = await server.run(['exec', ...options, id, '--', ...print]);
    expect(before.stdout).toBe('dir\n1\n');
  });

  test('five megabytes of arbitrary bytes come through unchanged', async () => {
    const script = 'head -c 5000000 /dev/urandom | tee random; sha256sum random >&2';
    const { bytes, stderr } = await server.run(['exec', id, '--', 'sh', '-c', script]);
    expect(bytes.length).toBe(5_000_000);
    expect(stderr.split(' ')[0]).toBe(createHash('sha256').update(bytes).digest('hex'));
  });

  test('a timeout is told and has its own exit code', async () => {
    const script = 'echo begun; sleep 60';
    const args = ['exec', id, '--timeout', '300ms', '--', 'sh', '-c', script];
    const running = server.start(args);
    await running.shows('stdout', 'begun\n');
    await clock.advance(300);
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stdout }).toEqual({ code: 124, stdout: 'begun\n' });
    expect(stderr).toBe('emergent: the command timed out after 0.3 s\n');
  });

  test('--json prints one document and keeps the exit code', async () => {
    const args = ['exec', id, '--json', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3'];
    const { code, stdout, stderr } = await server.run(args);
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      workspace_id: id,
      stdout: 'out\n',
      stderr: 'err\n',
      exit_code: 3,
      signal: null,
      timed_out: false,
    });
  });

  test('our own failures end with 125', async () => {
    const { code, stderr } = await server.run(['exec', '00000000', '--', 'true']);
    expect(code).toBe(125);
    expect(stderr).toMatch(/^emergent: no workspace's id begins with 00000000\. /);
  });

  test.for(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'the first %s goes to the command, which may finish its work',
    async (signal) => {
      const name = signal.slice(3);
      const script = `trap 'echo caught; exit 42' ${name}; echo waiting; while :; do sleep 0.05; done`;
      const running = server.start(['exec', id, '--', 'bash', '-c', script]);
      await running.shows('stdout', 'waiting\n');
      running.kill(signal);
      expect(await running.ended).toMatchObject({
        code: 42,
        stdout: 'waiting\ncaught\n',
      });
    },
  );

  test('a command that the signal ends gives the exit code of a shell', async () => {
    const running = server.start(['exec', id, '--', 'bash', '-c', 'echo waiting; exec sleep 60']);
    await running.shows('stdout', 'waiting\n');
    running.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130 });
  });

  test('the second signal ends the command', async () => {
    const script = `trap 'echo ignored' INT; echo waiting; while :; do sleep 0.05; done`;
    const running = server.start(['exec', id, '--', 'bash', '-c', script]);
    await running.shows('stdout', 'waiting\n');
    running.kill('SIGINT');
    await running.shows('stdout', 'ignored\n');
    running.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(143);
    expect(stderr).toBe('emergent: ending the command; once more to stop waiting for it\n');
  });

  test('the third signal stops waiting at once, and the server ends the command', async () => {
    const script = `trap 'echo ignored' INT; trap 'echo refused' TERM; echo $$; while :; do sleep 0.05; done`;
    const running = server.start(['exec', id, '--', 'bash', '-c', script]);
    await running.shows('stdout', '\n');
    running.kill('SIGINT');
    await running.shows('stdout', 'ignored\n');
    running.kill('SIGINT');
    await running.shows('stdout', 'refused\n');
    running.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain('emergent: stopped waiting; the server ends the command\n');
  });

  test('a reader that has seen enough ends it quietly', async () => {
    const running = server.start(['exec', id, '--', 'yes']);
    await running.shows('stdout', 'y\n');
    running.closeStdout();
    expect(await running.ended).toMatchObject({ code: 141, stderr: '' });
  });
});
