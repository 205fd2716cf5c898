import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeClock } from '../support/clock.ts';
import { verifies } from '../support/verifies.ts';
import { ScenarioServer } from './support.ts';

describe('running commands in a gVisor workspace', () => {
  const clock = new FakeClock(new Date());
  let server: ScenarioServer;
  let id: string;
  beforeAll(async () => {
    server = await ScenarioServer.start({}, undefined, clock);
    id = await server.create({ env: { GREETING: 'hello' } });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  verifies(
    ['gvisor/execute-bash-command-via-docker-exec'],
    'captures standard output, standard error and the exit code',
    async () => {
      const { status, body } = await server.bash(id, 'echo $GREETING; echo oops >&2; exit 3');
      expect(status).toBe(200);
      expect(body).toMatchObject({
        stdout: 'hello\n',
        stderr: 'oops\n',
        exit_code: 3,
        signal: null,
        timed_out: false,
        background: false,
        truncated: false,
        stdout_bytes: 6,
        stderr_bytes: 5,
      });
    },
  );

  test('has the tools of the base image', async () => {
    const tools = 'bash git rg curl ps python3 node gcc make update-ca-certificates';
    const { body } = await server.bash(
      id,
      `for t in ${tools}; do command -v $t || echo NO $t; done`,
    );
    expect(body.stdout).not.toContain('NO ');
  });

  test('ends a command at its timeout, with what it printed until then', async () => {
    const timeout_ms = 77_000;
    const command = 'echo begun; touch begun; sleep 1000';
    const running = server.call('POST', `/${id}/bash`, { command, timeout_ms });
    await server.bash(id, 'until [ -e begun ]; do sleep 0.05; done');
    await clock.whenSleepingFor(timeout_ms);
    await clock.advance(timeout_ms);
    const { body } = await running;
    expect(body).toMatchObject({
      stdout: 'begun\n',
      timed_out: true,
      exit_code: 143,
      signal: 'SIGTERM',
    });
    const { body: left } = await server.bash(id, 'pgrep -x sleep || echo none');
    expect(left.stdout).toBe('none\n');
  });

  test('keeps head and tail of a long output and counts the rest', async () => {
    const { body } = await server.bash(id, 'echo first; yes middle | head -c 5000000; echo last');
    expect(body).toMatchObject({ truncated: true, stdout_bytes: 5_000_011, exit_code: 0 });
    expect(body.stdout.length).toBeLessThan(60_000);
    expect(body.stdout).toMatch(/^first\n[^]*bytes left out[^]*last\n$/);
  });
});
