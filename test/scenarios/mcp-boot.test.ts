import { afterAll, beforeAll, describe, expect } from 'vitest';
import { hostingTimeout } from '../support/mcp-hosting.ts';
import { startMcpScenario } from '../support/mcp-scenario.ts';
import type { McpScenario } from '../support/mcp-scenario.ts';
import { verifies } from '../support/verifies.ts';

describe('MCP servers over a stop and a start of the Emergent server', hostingTimeout, () => {
  let scenario: McpScenario;
  beforeAll(async () => {
    scenario = await startMcpScenario({ EMERGENT_MCP_GRACE: '2s' });
  });
  afterAll(() => scenario[Symbol.asyncDispose]());

  const states = async (): Promise<Readonly<Record<string, string>>> => {
    const containers = await scenario.server.docker.listContainers({ all: true });
    const ids = new Map(
      containers.map(({ Labels: labels, State: state }) => [
        labels['dev.emergent.workspace'] ?? '',
        state,
      ]),
    );
    return Object.fromEntries(ids);
  };

  verifies(
    [
      'lifecycle/mcp-server-graceful-shutdown-on-emergent-stop',
      'lifecycle/mcp-server-auto-start-on-emergent-boot',
    ],
    'all are told to end, those that do not are ended by force, and all that are wanted come back',
    async () => {
      const { hosting, images, server } = scenario;
      const image = images.rogue;
      const volumes = ['/data'];
      const args = ['--on-term', '/data/ended'];
      const polite = await hosting.register({ name: 'polite', image, volumes, args });
      const stubborn = await hosting.register({ name: 'stubborn', image, args: ['--stubborn'] });
      const unwanted = await hosting.register({ name: 'unwanted', image });
      await hosting.change(unwanted.id, 'stop');

      let stopped: Readonly<Record<string, string>> = {};
      await server.restart({}, async () => {
        stopped = await states();
      });
      expect([stopped[polite.id], stopped[stubborn.id]]).toEqual(['exited', 'exited']);

      await hosting.untilHealth(polite.id, 'healthy');
      await hosting.untilHealth(stubborn.id, 'healthy');
      expect(await hosting.tool(polite.id, 'read', { path: '/data/ended' })).toBe('SIGTERM\n');
      expect(await hosting.tool(stubborn.id, 'counter')).toBe('1');
      expect(await hosting.get(unwanted.id)).toMatchObject({
        ...{ status: 'stopped', health: { state: 'stopped' } },
      });
    },
  );
});
