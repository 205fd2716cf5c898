import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestServer } from './support/server.ts';

describe('run', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await TestServer.start();
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test('creates, runs, passes the exit code on and leaves nothing', async () => {
    const script = 'echo $GREETING; exit 5';
    const args = [
      'run',
      '--env',
      'GREETING=hello',
      '--workdir',
      '/workspace',
      '--',
      'sh',
      '-c',
      script,
    ];
    expect(await server.run(args)).toMatchObject({ code: 5, stdout: 'hello\n', stderr: '' });
    expect(await server.workspaceIds()).toEqual([]);
  });

  test('--keep leaves the workspace and names it', async () => {
    const { code, stderr } = await server.run(['run', '--keep', '--', 'touch', 'left']);
    expect(code).toBe(0);
    const id = /^kept: (\S+)\n$/.exec(stderr)?.[1] ?? '';
    expect(await server.run(['exec', id, '--', 'ls'])).toMatchObject({ stdout: 'left\n' });
    await server.run(['destroy', id]);
  });

  test('--json prints one document', async () => {
    const { stdout } = await server.run(['run', '--json', '--', 'echo', 'hello']);
    expect(JSON.parse(stdout)).toMatchObject({ stdout: 'hello\n', stderr: '', exit_code: 0 });
    expect(await server.workspaceIds()).toEqual([]);
  });

  test('a workspace that cannot be created ends with 125', async () => {
    const { code, stderr } = await server.run(['run', '--provider', 'nowhere', '--', 'true']);
    expect(code).toBe(125);
    expect(stderr).toMatch(/^emergent: .*nowhere/);
  });

  test('a command that cannot be started leaves nothing', async () => {
    const { code } = await server.run(['run', '--workdir', '/no/such/directory', '--', 'true']);
    expect(code).toBe(125);
    expect(await server.workspaceIds()).toEqual([]);
  });

  test('destroys after Ctrl-C', async () => {
    const running = server.start(['run', '--', 'bash', '-c', 'echo waiting; exec sleep 60']);
    await running.shows('stdout', 'waiting\n');
    expect(await server.workspaceIds()).toHaveLength(1);
    running.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130, stdout: 'waiting\n' });
    expect(await server.workspaceIds()).toEqual([]);
  });

  test('destroys also when the user stops waiting for the command', async () => {
    // Refuses once: its workspace is not destroyed before it has had its time to end.
    const script = `trap 'echo ignored' INT; trap 'echo refused; trap - TERM' TERM; echo waiting; while :; do sleep 0.05; done`;
    const running = server.start(['run', '--', 'bash', '-c', script]);
    for (const seen of ['waiting\n', 'ignored\n', 'refused\n']) {
      await running.shows('stdout', seen);
      running.kill('SIGINT');
    }
    expect(await running.ended).toMatchObject({ code: 130 });
    expect(await server.workspaceIds()).toEqual([]);
  });

  test('destroys when the reader of the output goes away', async () => {
    const running = server.start(['run', '--', 'yes']);
    await running.shows('stdout', 'y\n');
    running.closeStdout();
    expect(await running.ended).toMatchObject({ code: 141, stderr: '' });
    expect(await server.workspaceIds()).toEqual([]);
  });
});
