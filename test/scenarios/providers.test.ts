import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { ScenarioServer } from './support.ts';

describe('the providers of a server', () => {
  let server: ScenarioServer;
  beforeAll(async () => {
    server = await ScenarioServer.start();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  verifies(
    ['orchestration/health-status-api', 'orchestration/provider-capabilities-reporting'],
    'are listed with health, last check, workspaces, resources and capabilities',
    async () => {
      const [before] = (await server.call('GET', '/providers')).body.providers;
      expect(before).toMatchObject({
        name: 'gvisor',
        status: 'healthy',
        reason: null,
        active_workspaces: 0,
        capabilities: {
          isolation: 'gvisor',
          persistence: true,
          snapshots: false,
          warm_pool: true,
          requires: ['docker'],
          startup_ms: null,
        },
      });
      expect(Date.parse(before.last_check)).not.toBeNaN();
      await server.create();
      const [after] = (await server.call('GET', '/providers')).body.providers;
      expect(after.active_workspaces).toBe(1);
      expect(after.capabilities.startup_ms).toBeGreaterThan(0);
      expect(after.available_resources).toMatchObject({
        cpu: expect.any(Number) as unknown,
        memory: expect.any(String) as unknown,
      });
    },
  );

  test('are named when a request asks for one that nobody knows', async () => {
    const { status, body } = await server.call('POST', '', { provider: 'nonsense' });
    expect([status, body.error.code]).toEqual([422, 'provider_unknown']);
    expect(body.error.details['known']).toEqual(['gvisor', 'docker']);
  });

  test.each(['firecracker', 'e2b'])(
    'include %s, which this version does not bring',
    async (name) => {
      const { providers } = (await server.call('GET', '/providers')).body;
      expect(providers.find((one: { name: string }) => one.name === name)).toMatchObject({
        status: 'absent',
        reason: expect.stringContaining('this version of the server') as unknown,
      });
      const { status, body } = await server.call('POST', '', { provider: name });
      expect([status, body.error.code]).toEqual([503, 'provider_unavailable']);
      expect(body.error.message).toContain('this version of the server');
    },
  );
});
