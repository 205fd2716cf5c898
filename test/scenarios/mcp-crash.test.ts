import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, toolText } from '../support/mcp-clients.ts';
import { hostingTimeout } from '../support/mcp-hosting.ts';
import { startMcpScenario } from '../support/mcp-scenario.ts';
import type { McpScenario } from '../support/mcp-scenario.ts';
import { verifies } from '../support/verifies.ts';

describe('an MCP server that crashes', hostingTimeout, () => {
  let scenario: McpScenario;
  beforeAll(async () => {
    scenario = await startMcpScenario();
  });
  afterAll(() => scenario[Symbol.asyncDispose]());

  verifies(
    ['lifecycle/mcp-server-process-exits-with-error'],
    'is started again by itself, answers clients that were there before, and its end is noted',
    async () => {
      const { hosting, images, server } = scenario;
      const { id } = await hosting.register({ name: 'crashing', image: images.rogue });
      await using client = await connect(server, id);
      expect(await toolText(client, 'counter')).toBe('1');
      const before = await hosting.event(id, 'mcp.started');
      expect(await hosting.fatal(id, 'exit', { code: 3 })).toBe('mcp_failed');
      const crashed = await hosting.event(id, 'mcp.crashed', before.id);
      expect(crashed).toMatchObject({ actor: 'mcp-host', detail: { exit_code: 3 } });
      const started = await hosting.event(id, 'mcp.started', crashed.id);
      expect(started.id).toBeGreaterThan(crashed.id);
      const again = await hosting.untilHealth(id, 'healthy');
      expect(again).toMatchObject({ restarts: 1, last_exit: { exit_code: 3, signal: null } });
      // Another program, and the same session.
      expect(await toolText(client, 'counter')).toBe('1');
      const logged = (await hosting.logs(id)).filter(({ stream }) => stream === 'host');
      expect(logged.map(({ text }) => text).join('\n')).toContain('3');
    },
  );

  verifies(
    ['lifecycle/mcp-server-crash-loop-detection'],
    'more than three times within a minute is put off for 5 seconds, with a warning',
    async () => {
      const { hosting, images } = scenario;
      const args = ['--mode', 'exit', '--code', '9'];
      const { id } = await hosting.register({ name: 'looping', image: images.rogue, args });
      const waiting = await hosting.until(id, 'put off', ({ health }) => {
        return health.crash_looping && health.state === 'waiting';
      });
      expect(waiting.last_exit).toMatchObject({ exit_code: 9 });
      const endedAt = Date.parse(waiting.last_exit?.at ?? '');
      // A look that comes late sees a later pause, which is longer.
      expect([5_000, 15_000, 45_000]).toContain(
        Date.parse(waiting.health.next_start_at ?? '') - endedAt,
      );
      const warning = await hosting.event(id, 'mcp.crash_loop');
      expect(warning.detail).toMatchObject({ exit_code: 9, delay_ms: 5_000 });
      const crashes: number[] = [];
      for await (const event of hosting.events()) {
        if (event.workspace_id === id && event.type === 'mcp.crashed') crashes.push(event.id);
        if (event.id === warning.id) break;
      }
      expect(crashes).toHaveLength(4);
      const restarted = await hosting.change(id, 'stop');
      expect(restarted.health.state).toBe('stopped');
    },
  );

  test('ended with 0 stays so unless its policy is "always"', async () => {
    const { hosting, images } = scenario;
    const { id } = await hosting.register({
      ...{ name: 'done', image: images.rogue, restart_policy: 'on-failure' },
    });
    expect(await hosting.fatal(id, 'exit', { code: 0 })).toBe('mcp_failed');
    expect(await hosting.untilHealth(id, 'ended')).toMatchObject({
      ...{ status: 'ready', restarts: 0, last_exit: { exit_code: 0 } },
    });
    await hosting.change(id, 'start');
    expect(await hosting.tool(id, 'echo', { text: 'here' })).toBe('here');
  });
});
