import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { McpServer } from '../../src/cli/http/mcp-types.ts';
import { eventually } from '../support/eventually.ts';
import { connect, toolText } from '../support/mcp-clients.ts';
import { hostingTimeout } from '../support/mcp-hosting.ts';
import type { McpHosting } from '../support/mcp-hosting.ts';
import { startMcpScenario } from '../support/mcp-scenario.ts';
import type { McpScenario } from '../support/mcp-scenario.ts';

const MiB = 2 ** 20;

// Each in a sandbox of its own, on real gVisor.
describe('the rogues’ gallery', hostingTimeout, () => {
  let scenario: McpScenario;
  let hosting: McpHosting;
  beforeAll(async () => {
    scenario = await startMcpScenario({ EMERGENT_MCP_GRACE: '2s', EMERGENT_MCP_PING: '1s' });
    ({ hosting } = scenario);
  });
  afterAll(() => scenario[Symbol.asyncDispose]());

  async function rogue(
    name: string,
    args: readonly string[] = [],
    more: object = {},
  ): Promise<McpServer> {
    const made = await hosting.register({ name, image: scenario.images.rogue, args, ...more });
    await scenario.traces.remember(made.id);
    return made;
  }

  async function answers(id: string): Promise<void> {
    expect(await hosting.tool(id, 'echo', { text: 'still here' })).toBe('still here');
  }

  // A few at a time, those first that have to be waited for.
  describe.concurrent('has one that', () => {
    test('closes its standard output and lives on: unresponsive', async () => {
      const { id } = await rogue('closed');
      const closing = hosting.fatal(id, 'close_stdout');
      await hosting.untilHealth(id, 'unresponsive');
      expect(await hosting.get(id)).toMatchObject({ status: 'ready', restarts: 0 });
      await hosting.change(id, 'restart');
      expect(await closing).toBe('mcp_failed');
      await answers(id);
    });

    test('stops answering: unresponsive and not restarted, until somebody does', async () => {
      const { id } = await rogue('mute');
      const muting = hosting.fatal(id, 'mute');
      const { health } = await hosting.untilHealth(id, 'unresponsive');
      expect(health.reason).not.toBeNull();
      await hosting.event(id, 'mcp.unresponsive');
      await hosting.change(id, 'restart');
      expect(await muting).toBe('mcp_failed');
      await answers(id);
    });

    test('answers `initialize` late: used from then on', async () => {
      const args = ['--mode', 'late', '--delay', '10s'];
      const made = await rogue('late', args, { initialize_timeout_ms: 1_000 });
      expect(made.health.state).toBe('unresponsive');
      await hosting.untilHealth(made.id, 'healthy');
      await answers(made.id);
    });

    test('ignores SIGTERM and the end of its input: ended by force', async () => {
      const { id } = await rogue('stubborn', ['--stubborn']);
      await hosting.change(id, 'stop');
      expect(await hosting.get(id)).toMatchObject({
        ...{ status: 'stopped', health: { state: 'stopped' } },
      });
    });

    test('floods its standard error: a bounded end of it is kept, and it answers meanwhile', async () => {
      const { id } = await rogue('flood', ['--flood', String(4 * MiB)]);
      await answers(id);
      expect(await hosting.tool(id, 'flood', { bytes: MiB })).toBe('written');
      await answers(id);
      // It is read besides its answers.
      const lines = await eventually(async () => {
        const read = await hosting.logs(id);
        expect(read.length).toBeGreaterThan(100);
        return read;
      });
      const characters = lines.reduce((sum, { text }) => sum + text.length, 0);
      expect(characters).toBeLessThanOrEqual(MiB);
    });

    test('ends at once, again and again: put off', async () => {
      const { id } = await rogue('looping', ['--mode', 'signal']);
      const waiting = await hosting.until(id, 'put off', ({ health }) => {
        return health.crash_looping && health.state === 'waiting';
      });
      expect(waiting.status).toBe('ready');
      expect(waiting.last_exit?.signal).toBe('SIGKILL');
      expect(await hosting.fatal(id, 'echo')).toBe('mcp_unavailable');
      await hosting.delete(id);
    });

    test('leaves children: they are gone before the next one starts', async () => {
      const { id } = await rogue('children');
      await hosting.tool(id, 'children', { count: 3 });
      expect((await hosting.tool(id, 'processes')).match(/--child/g)).toHaveLength(3);
      expect(await hosting.fatal(id, 'exit', { code: 1 })).toBe('mcp_failed');
      await hosting.until(id, 'back', ({ restarts, health }) => {
        return restarts === 1 && health.state === 'healthy';
      });
      expect(await hosting.tool(id, 'processes')).not.toContain('--child');
    });

    test('ends with 0: started again where it is always wanted', async () => {
      const { id } = await rogue('ends-well', [], { restart_policy: 'always' });
      expect(await hosting.fatal(id, 'exit', { code: 0 })).toBe('mcp_failed');
      const again = await hosting.until(id, 'back', ({ restarts, health }) => {
        return restarts === 1 && health.state === 'healthy';
      });
      expect(again.last_exit).toMatchObject({ exit_code: 0, signal: null });
      await answers(id);
    });

    test('ends with 1: left alone where it is never to be restarted', async () => {
      const { id } = await rogue('ends-badly', [], { restart_policy: 'never' });
      expect(await hosting.fatal(id, 'exit', { code: 1 })).toBe('mcp_failed');
      const ended = await hosting.untilHealth(id, 'ended');
      expect(ended).toMatchObject({ status: 'ready', restarts: 0, last_exit: { exit_code: 1 } });
      expect(await hosting.fatal(id, 'echo')).toBe('mcp_unavailable');
    });

    test('is killed by a signal: started again, and the signal is told', async () => {
      const { id } = await rogue('killed');
      expect(await hosting.fatal(id, 'signal', { number: 9 })).toBe('mcp_failed');
      const again = await hosting.until(id, 'back', ({ restarts, health }) => {
        return restarts === 1 && health.state === 'healthy';
      });
      expect(again.last_exit?.signal).toBe('SIGKILL');
      await answers(id);
    });

    test('never answers `initialize`: unresponsive, and left running', async () => {
      const made = await rogue('silent', ['--mode', 'silent'], { initialize_timeout_ms: 1_000 });
      expect(made).toMatchObject({ status: 'ready', health: { state: 'unresponsive' } });
      expect(made.health.reason).toContain('1 second');
      expect(made.introduction).toBeNull();
      expect(await hosting.fatal(made.id, 'echo')).toBe('mcp_unavailable');
      await hosting.event(made.id, 'mcp.unresponsive');
      expect((await hosting.get(made.id)).restarts).toBe(0);
    });

    test('refuses `initialize`: unresponsive, with its words', async () => {
      const { health } = await rogue('refusing', ['--mode', 'refuse']);
      expect(health.state).toBe('unresponsive');
      expect(health.reason).toContain('not today');
    });

    test('answers twice, or what nobody asked: every call gets its own answer', async () => {
      for (const mode of ['twice', 'unknown-ids']) {
        const { id } = await rogue(mode, ['--mode', mode]);
        await using client = await connect(scenario.server, id);
        const sums = Array.from({ length: 20 }, (_, a) => toolText(client, 'add', { a, b: 1 }));
        const expected = Array.from({ length: 20 }, (_, a) => String(a + 1));
        expect(await Promise.all(sums)).toEqual(expected);
        expect(await hosting.get(id)).toMatchObject({ health: { state: 'healthy' }, restarts: 0 });
      }
    });

    test('prints garbage: counted and kept, and its answers are found', async () => {
      const { id } = await rogue('garbage', ['--mode', 'garbage']);
      await answers(id);
      const { health, stray_lines: stray } = await hosting.get(id);
      expect(health.state).toBe('healthy');
      expect(stray).toBeGreaterThan(5);
      const kept = (await hosting.logs(id)).filter(({ stream }) => stream === 'stray');
      expect(kept.map(({ text }) => text)).toContain('Server is listening...');
    });

    test('a message of 10 MB passes; a larger one fails its own call only', async () => {
      const { id } = await rogue('big');
      const whole = await hosting.tool(id, 'big', { bytes: 10_000_000 });
      expect(whole).toHaveLength(10_000_000);
      expect(await hosting.fatal(id, 'big', { bytes: 11 * MiB })).toBe('message_too_large');
      await answers(id);
      expect(await hosting.get(id)).toMatchObject({ health: { state: 'healthy' }, restarts: 0 });
    });
  });

  test('and nothing is left when they are deleted', async () => {
    await hosting.deleteAll();
    await expect.poll(() => scenario.traces.left(), { timeout: 60_000 }).toEqual([]);
  });
});
