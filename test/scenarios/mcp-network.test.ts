import { afterAll, beforeAll, describe, expect } from 'vitest';
import { hostingTimeout } from '../support/mcp-hosting.ts';
import { startMcpScenario } from '../support/mcp-scenario.ts';
import type { McpScenario } from '../support/mcp-scenario.ts';
import { verifies } from '../support/verifies.ts';

describe('the network of MCP servers on gVisor', hostingTimeout, () => {
  let scenario: McpScenario;
  beforeAll(async () => {
    scenario = await startMcpScenario();
  });
  afterAll(() => scenario[Symbol.asyncDispose]());

  verifies(
    ['gvisor/mcp-server-with-gvisor-networking'],
    'the server of ours reaches each by its bridge; they reach neither each other nor anything else',
    async () => {
      const { hosting, images, server } = scenario;
      const image = images.rogue;
      const alone = await hosting.register({ name: 'alone', image });
      expect(await hosting.tool(alone.id, 'echo', { text: 'through the bridge' })).toBe(
        'through the bridge',
      );
      const own = (await hosting.tool(alone.id, 'interfaces')).split(' ');
      expect(own.every((address) => /^(127\.|::1)/.test(address))).toBe(true);

      const nat = { image, network: 'nat', args: ['--http', '8080'] };
      const http = { stdio_bridge: false, port: 8080 };
      const listening = await hosting.register({ name: 'listening', ...nat, ...http });
      const asking = await hosting.register({ name: 'asking', image, network: 'nat' });
      const [container] = await server.docker.listContainers({
        filters: { label: [`dev.emergent.workspace=${listening.id}`] },
      });
      const addresses = Object.values(container?.NetworkSettings.Networks ?? {}).map(
        ({ IPAddress: address }) => address,
      );
      expect(addresses).toHaveLength(1);
      for (const { id } of [alone, asking]) {
        for (const address of addresses) {
          const reached = await hosting.tool(id, 'dial', { address: `${address}:8080`, ms: 500 });
          expect(reached).not.toBe('reached');
        }
        const back = await hosting.tool(id, 'dial', { address: new URL(server.url).host, ms: 500 });
        expect(back).not.toBe('reached');
      }
      // It does listen: only nobody but the server of ours gets there.
      const called = await hosting.call(listening.id, 'tools/call', { name: 'counter' });
      expect(called).toMatchObject({ result: { content: [{ text: '1' }] } });
    },
  );
});
