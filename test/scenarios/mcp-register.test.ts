import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, connectModern, toolText } from '../support/mcp-clients.ts';
import { hostingTimeout } from '../support/mcp-hosting.ts';
import { startMcpScenario } from '../support/mcp-scenario.ts';
import type { McpScenario } from '../support/mcp-scenario.ts';
import { verifies } from '../support/verifies.ts';

describe('registering an MCP server', hostingTimeout, () => {
  let scenario: McpScenario;
  beforeAll(async () => {
    scenario = await startMcpScenario();
  });
  afterAll(() => scenario[Symbol.asyncDispose]());

  verifies(
    [
      'lifecycle/successful-mcp-server-registration',
      'gvisor/default-mcp-server-creation-uses-gvisor',
    ],
    'makes a persistent sandbox of its image on gVisor and speaks with its program',
    async () => {
      const { hosting, images, server } = scenario;
      const made = await hosting.register({ name: 'first', image: images.rogue });
      expect(made).toMatchObject({
        ...{ name: 'first', status: 'ready', provider: 'gvisor', network: 'isolated' },
        health: { state: 'healthy', crash_looping: false },
        introduction: { protocol_version: '2025-11-25', server_info: { name: 'rogue' } },
        ...{ restarts: 0, last_exit: null, stdio_bridge: true },
      });
      const { body } = await server.call('GET', `/${made.id}`);
      expect(body).toMatchObject({
        ...{ container_type: 'mcp_server', lifecycle: 'persistent', expires_at: null },
        ...{ status: 'ready', provider: 'gvisor' },
      });
      const [container] = await server.docker.listContainers({
        filters: { label: [`dev.emergent.workspace=${made.id}`] },
      });
      expect(container).toMatchObject({ State: 'running', Image: images.rogue });
      const inspected = await server.docker.getContainer(container?.Id ?? '').inspect();
      expect(inspected.HostConfig.Runtime).toContain('runsc');

      await using client = await connect(server, made.id);
      expect(client.getServerVersion()).toMatchObject({ name: 'rogue' });
      expect(await toolText(client, 'add', { a: 19, b: 23 })).toBe('42');
      await using modern = await connectModern(server, made.id);
      expect(await toolText(modern, 'add', { a: 2, b: 2 })).toBe('4');
      // One program for all.
      expect([await toolText(client, 'counter'), await toolText(modern, 'counter')]).toEqual([
        ...['1', '2'],
      ]);
    },
  );

  test('leaves to the image its entry point, arguments, user, working directory and environment', async () => {
    const { hosting, images } = scenario;
    const env = { GIVEN: 'by-the-request' };
    const { id } = await hosting.register({ name: 'keeper', image: images.keeper, env });
    expect(JSON.parse(await hosting.tool(id, 'who'))).toMatchObject({
      ...{ argv: ['/rogue', '--code', '7'], cwd: '/srv/keeper', uid: 1234, gid: 1235 },
    });
    expect(await hosting.tool(id, 'env', { name: 'KEPT' })).toBe('by-the-image');
    expect(await hosting.tool(id, 'env', { name: 'GIVEN' })).toBe('by-the-request');
  });

  test('overrides what the request names', async () => {
    const { hosting, images } = scenario;
    const arguments_ = { args: ['--code', '8'], workdir: '/workspace' };
    const other = await hosting.register({ name: 'args', image: images.keeper, ...arguments_ });
    expect(JSON.parse(await hosting.tool(other.id, 'who'))).toMatchObject({
      ...{ argv: ['/rogue', '--code', '8'], cwd: '/workspace' },
    });
    const command = { command: '/rogue', args: [] };
    const plain = await hosting.register({ name: 'command', image: images.keeper, ...command });
    expect(JSON.parse(await hosting.tool(plain.id, 'who'))).toMatchObject({ argv: ['/rogue'] });
  });

  test('never tells its environment again', async () => {
    const { hosting, images } = scenario;
    const env = { SECRET: 'b7e9d0c4-told-once' };
    const made = await hosting.register({ name: 'secret', image: images.rogue, env });
    expect(await hosting.tool(made.id, 'env', { name: 'SECRET' })).toBe(env.SECRET);
    const answers = [made, await hosting.get(made.id), await hosting.list()];
    expect(JSON.stringify(answers)).not.toContain(env.SECRET);
  });

  test('refuses a name that is taken, and an image without a program; nothing is left of either', async () => {
    const { hosting, images, server } = scenario;
    const before = (await hosting.list()).length;
    const refusals = [
      [{ name: 'first', image: images.rogue }, 409, 'name_taken'],
      [{ name: 'lost', image: images.rogue, command: '/no-such-program' }, 422, 'no_program'],
    ] as const;
    for (const [body, status, code] of refusals) {
      const answer = await server.callApi('POST', '/mcp/servers', body);
      expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    }
    expect(await hosting.list()).toHaveLength(before);
  });

  test('keeps the files of its volumes over a restart of its sandbox, and removes them with it', async () => {
    const { hosting, images, traces } = scenario;
    const volumes = ['/data', '/var/lib/keeper'];
    const { id } = await hosting.register({ name: 'volumes', image: images.rogue, volumes });
    for (const path of volumes) {
      await hosting.tool(id, 'write', { path: `${path}/note`, text: `kept in ${path}` });
    }
    await hosting.tool(id, 'write', { path: '/note', text: 'of the container alone' });
    await traces.remember(id);
    await hosting.change(id, 'stop');
    expect(await hosting.get(id)).toMatchObject({
      status: 'stopped',
      health: { state: 'stopped' },
    });
    await hosting.change(id, 'start');
    for (const path of volumes) {
      expect(await hosting.tool(id, 'read', { path: `${path}/note` })).toBe(`kept in ${path}`);
    }
    await traces.remember(id);
    await hosting.delete(id);
    const left = async (): Promise<readonly string[]> =>
      (await traces.left()).filter((trace) => trace.includes(id));
    await expect.poll(left, { timeout: 60_000 }).toEqual([]);
  });

  test('keeps volumes of a deleted server where asked to, for the next one of its name', async () => {
    const { hosting, images } = scenario;
    const body = { name: 'heir', image: images.rogue, volumes: ['/data'] };
    const { id } = await hosting.register(body);
    await hosting.tool(id, 'write', { path: '/data/will', text: 'all of it' });
    await hosting.delete(id, true);
    const next = await hosting.register(body);
    expect(await hosting.tool(next.id, 'read', { path: '/data/will' })).toBe('all of it');
  });

  test('reaches one that serves HTTP itself, with no port published', async () => {
    const { hosting, images, server } = scenario;
    const { id } = await hosting.register({
      ...{ name: 'http', image: images.rogue, args: ['--http', '8080'] },
      ...{ stdio_bridge: false, port: 8080 },
    });
    await using client = await connect(server, id);
    expect(await toolText(client, 'counter')).toBe('1');
    const told: number[] = [];
    const options = {
      onprogress: ({ progress }: { progress: number }) => void told.push(progress),
    };
    await client.callTool({ name: 'sleep', arguments: { ms: 30, steps: 3 } }, undefined, options);
    expect(told).toContain(1);
    const [container] = await server.docker.listContainers({
      filters: { label: [`dev.emergent.workspace=${id}`] },
    });
    expect(container?.Ports).toEqual([]);
  });
});
