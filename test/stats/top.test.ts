import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli } from '../cli/support/cli.ts';
import { TestServer } from '../cli/support/server.ts';
import { AtTerminal } from '../terminal/support/at-terminal.ts';

let server: TestServer;
let quiet: string;
let busy: string;
let loop: string;
beforeAll(async () => {
  server = await TestServer.start();
  busy = await server.create('--memory', '512M', '--disk', '1G');
  const command = ['bash', '-c', 'echo up; while :; do :; done'];
  const { stdout } = await server.run(['exec', '-d', busy, '--', ...command]);
  loop = stdout.trim();
  const attached = server.start(['attach', busy, loop]);
  await attached.shows('stdout', 'up');
  attached.kill('SIGINT');
  quiet = await server.create();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** What `stty -a` says of a terminal that is as it was. */
const restored = / icanon [^]* echo /;
const enterScreen = '\x1b[?1049h';
const leaveScreen = '\x1b[?1049l';

describe('emergent top of a busy workspace', () => {
  // Its core is wanted elsewhere.
  afterAll(async () => {
    await server.run(['kill', '--signal', 'KILL', busy, loop]);
  });

  test('prints once where nobody looks, the busiest first', async () => {
    const { code, stdout, stderr } = await server.run(['top']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [title, first, second, ...rest] = stdout.trimEnd().split('\n');
    expect(title).toMatch(/^WORKSPACE +PROVIDER +STATUS +CPU +MEMORY +DISK +PROCS +IDLE$/);
    expect(first).toMatch(
      new RegExp(
        `^${busy.slice(0, 8)} +memory +ready +[1-9]\\d*\\.\\d%/\\d+% +[\\d.]+ MB/512\\.0 MB +` +
          String.raw`\d+(\.\d)? K?B/1\.0 GB +1 +\d+[sm]`,
      ),
    );
    expect(second).toMatch(new RegExp(`^${quiet.slice(0, 8)} +memory +ready +0\\.0%/`));
    expect(rest).toEqual([]);
  });

  test('--json prints what the API tells', async () => {
    const { code, stdout } = await server.run(['top', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      items: [
        { workspace_id: quiet, processes: 0 },
        { workspace_id: busy, processes: 1, memory_limit_bytes: 512 * 2 ** 20 },
      ],
      left_out: 0,
    });
  });
});

describe('emergent top', () => {
  test('of nothing there is only a title', async () => {
    const agent = await server.run(['token', 'create', 'top', '--json']);
    const { token } = JSON.parse(agent.stdout) as { token: string };
    const { stdout } = await server.run(['top', '--once'], { env: { EMERGENT_TOKEN: token } });
    expect(stdout).toMatch(/^WORKSPACE .*\n$/);
  });

  test.each([
    ['q', 'q', 0],
    ['Ctrl-C', '\x03', 130],
  ])('%s leaves the screen as it was', async (_, key, expected) => {
    const screen = new AtTerminal(['top', '--interval', '100ms'], server.env);
    await screen.shows(busy.slice(0, 8));
    expect(screen.shown).toContain(enterScreen);
    expect(screen.shown).toContain('2 workspaces');
    screen.type(key);
    expect(await screen.ended).toBe(expected);
    const after = screen.shown.slice(screen.shown.lastIndexOf(leaveScreen));
    expect(after).toMatch(restored);
    expect(after).not.toContain('WORKSPACE');
    expect(screen.shown).toContain('\x1b[?25h');
  });

  test('shows what comes and goes while it looks', async () => {
    const screen = new AtTerminal(['top', '--interval', '50ms'], server.env);
    await screen.shows('2 workspaces');
    const third = await server.create();
    await screen.shows(third.slice(0, 8));
    await server.run(['stop', third]);
    await screen.shows('stopped');
    await server.run(['destroy', third]);
    screen.type('q');
    expect(await screen.ended).toBe(0);
  });

  test('goes on when the server is away, says so, and is back with it', async () => {
    const screen = new AtTerminal(['top', '--interval', '50ms'], server.env);
    await screen.shows('2 workspaces');
    await server.restart(() => screen.shows('trying again'));
    // Nothing runs in the sandboxes of this provider any more when its server ends.
    await screen.shows('0 workspaces');
    screen.type('q');
    expect(await screen.ended).toBe(0);
  });

  test('a server that was never there is a failure; so is a wrong interval', async () => {
    const nowhere = { EMERGENT_URL: 'http://127.0.0.1:1', EMERGENT_TOKEN: 'x' };
    const { code, stderr } = await cli(['top'], { env: nowhere });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^emergent: cannot reach the server at http:\/\/127\.0\.0\.1:1 /);
    expect((await cli(['top', '--interval', 'often'], { env: nowhere })).code).toBe(2);
  });
});
