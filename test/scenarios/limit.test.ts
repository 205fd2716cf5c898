import { describe, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { ScenarioServer, everyProvider } from './support.ts';

describe.each(everyProvider)('the limit of concurrent workspaces on %s', (_, settings) => {
  verifies(
    ['lifecycle/workspace-creation-exceeds-concurrent-limit'],
    'refuses one too many with advice; stopping or destroying one makes room, resuming takes it',
    async () => {
      await using server = await ScenarioServer.start({
        ...settings,
        WORKSPACE_MAX_CONCURRENT: '2',
      });
      const [first, second] = await Promise.all([server.create(), server.create()]);
      const refused = await server.call('POST', '', {});
      expect(refused.status).toBe(429);
      expect(refused.body.error).toMatchObject({
        code: 'limit_reached',
        message: 'the limit of 2 concurrent workspaces has been reached',
        hint: expect.stringMatching(/^Wait .* or destroy what is no longer used/) as unknown,
        details: { limit: 2, running: 2 },
      });
      expect((await server.call('GET', '')).body.items).toHaveLength(2);

      expect((await server.call('POST', `/${first}/stop`)).status).toBe(200);
      const third = await server.create();
      const resumed = await server.call('POST', `/${first}/resume`);
      expect([resumed.status, resumed.body.error.code]).toEqual([429, 'limit_reached']);
      expect((await server.call('GET', `/${first}`)).body.status).toBe('stopped');

      await server.call('DELETE', `/${second}`);
      expect((await server.call('POST', `/${first}/resume`)).body.status).toBe('ready');
      expect((await server.call('GET', `/${third}`)).body.status).toBe('ready');
    },
    180_000,
  );
});
