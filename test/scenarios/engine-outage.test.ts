import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startPrivateEngine } from '../support/engine.ts';
import type { PrivateEngine } from '../support/engine.ts';
import { testHost } from '../support/host.ts';
import { ScenarioServer, resourcesOf } from './support.ts';

describe('a Docker engine that goes away while the server runs', () => {
  let engine: PrivateEngine;
  let server: ScenarioServer;
  let id: string;
  beforeAll(async () => {
    const { image } = await testHost();
    engine = await startPrivateEngine({ images: [image] });
    server = await ScenarioServer.start({ DOCKER_HOST: `unix://${engine.socket}` }, engine.docker);
    id = await server.create({ network: 'isolated' });
    await server.bash(id, 'echo before > file');
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  test('makes the provider unhealthy with the reason, and every call says so', async () => {
    await engine.stop();
    const create = await server.call('POST', '');
    expect([create.status, create.body.error.code]).toEqual([503, 'provider_unavailable']);
    expect(create.body.error.message).toContain('Docker engine unreachable');
    expect(create.body.error.details['providers']).toContainEqual(
      expect.objectContaining({ name: 'gvisor' }),
    );
    const explicit = await server.call('POST', '', { provider: 'gvisor' });
    expect(explicit.status).toBe(503);
    expect(explicit.body.error.hint).toContain('Start the Docker engine');
    const [provider] = (await server.call('GET', '/providers')).body.providers;
    expect(provider).toMatchObject({ status: 'unhealthy', active_workspaces: 1 });
    expect(provider.reason).toContain('Docker engine unreachable');
    expect((await server.bash(id, 'true')).status).toBe(503);
    const destroy = await server.call('DELETE', `/${id}`);
    expect(destroy.status).toBe(503);
    expect(destroy.body.error.hint).toContain('The server goes on trying by itself');
    expect((await server.call('GET', `/${id}`)).body.status).toBe('destroying');
  });

  test('is used again when it is back, without a restart of the server', async () => {
    await engine.start();
    const next = await server.create({ network: 'isolated' });
    expect((await server.bash(next, 'echo after')).body.stdout).toBe('after\n');
    const [provider] = (await server.call('GET', '/providers')).body.providers;
    expect(provider.status).toBe('healthy');
  });

  test('the destroy that it refused is finished without being asked for again', async () => {
    const { actor } = await server.event(id, 'workspace.destroyed');
    expect(actor).toBe('reconciler');
    expect((await server.call('GET', `/${id}`)).status).toBe(404);
    expect(await resourcesOf(engine.docker, id)).toEqual([]);
  });
});
