import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inParallel } from '../../src/base/parallel.ts';
import type { PrivateEngine } from '../support/engine.ts';
import { connect, connectModern, toolText } from '../support/mcp-clients.ts';
import { startMcpEngine } from '../support/mcp-engine.ts';
import { hostingTimeout } from '../support/mcp-hosting.ts';
import { McpProcess } from '../support/mcp-process.ts';

const count = 20;

/** As many at a time as the machine has hands for. */
const atATime = 4;

// The real server as a process of its own, on an engine of its own, with real gVisor.
describe('twenty MCP servers', hostingTimeout, () => {
  const opened = new AsyncDisposableStack();
  let engine: PrivateEngine;
  let server: McpProcess;
  let ids: readonly string[];
  let counting: string;
  let client: Client;

  beforeAll(async () => {
    engine = opened.use(await startMcpEngine());
    const settings = { DOCKER_HOST: `unix://${engine.socket}` };
    server = opened.use(await McpProcess.start(settings, engine.docker));
    const names = Array.from({ length: count }, (_, at) => `server-${String(at)}`);
    const { rogue } = server.images;
    const body = { image: rogue, resource_limits: { cpu: '0.5', memory: '128M', disk: '100M' } };
    ids = await inParallel(atATime, names, async (name) => {
      const made = await server.hosting.register({ name, ...body });
      await server.traces.remember(made.id);
      return made.id;
    });
    counting = ids[7] ?? '';
    client = await connect(server, counting);
    opened.defer(() => client.close());
  });
  afterAll(() => opened.disposeAsync());

  const allAnswer = async (): Promise<void> => {
    const said = await inParallel(atATime, ids, async (id) => {
      await server.hosting.untilHealth(id, 'healthy');
      return server.hosting.tool(id, 'echo', { text: id });
    });
    expect(said).toEqual(ids);
  };
  /** The counter of each, which begins anew with each program. */
  const counts = (): Promise<readonly string[]> =>
    inParallel(atATime, ids, (id) => server.hosting.tool(id, 'counter'));

  test('run on while the server of ours is killed: it finds them alive', async () => {
    expect(await toolText(client, 'counter')).toBe('1');
    expect(await toolText(client, 'counter')).toBe('2');
    const pid = await toolText(client, 'who');
    await server.kill();
    await server.start();
    await allAnswer();
    // The session that was open before.
    expect(await toolText(client, 'counter')).toBe('3');
    expect(await toolText(client, 'who')).toBe(pid);
    await using other = await connectModern(server, counting);
    expect(await toolText(other, 'counter')).toBe('4');
    expect((await server.hosting.get(counting)).restarts).toBe(0);
  });

  test('one whose container was removed by hand is made again', async () => {
    const [lost = ''] = ids;
    const [container] = await engine.docker.listContainers({
      filters: { label: [`dev.emergent.workspace=${lost}`] },
    });
    expect(await server.hosting.tool(lost, 'counter')).toBe('1');
    const before = await server.hosting.event(lost, 'mcp.started');
    await engine.docker.getContainer(container?.Id ?? '').remove({ force: true });
    await server.hosting.event(lost, 'mcp.started', before.id);
    await server.hosting.untilHealth(lost, 'healthy');
    expect(await server.hosting.tool(lost, 'counter')).toBe('1');
    await server.traces.remember(lost);
  });

  test('one whose container was stopped by hand is started, though its program ended well', async () => {
    const [, stopped = ''] = ids;
    const [container] = await engine.docker.listContainers({
      filters: { label: [`dev.emergent.workspace=${stopped}`] },
    });
    const before = await server.hosting.event(stopped, 'mcp.started');
    await engine.docker.getContainer(container?.Id ?? '').stop();
    await server.hosting.event(stopped, 'mcp.started', before.id);
    await server.hosting.untilHealth(stopped, 'healthy');
    expect(await server.hosting.tool(stopped, 'counter')).toBe('1');
    await server.traces.remember(stopped);
  });

  test('answer again when the engine has been away, as they were', async () => {
    const before = await counts();
    await engine.stop();
    await engine.start();
    await allAnswer();
    expect(await counts()).toEqual(before.map((value) => String(Number(value) + 1)));
  });

  test('come back, new, after a cut of the power', async () => {
    // As many as show it.
    await inParallel(atATime, ids.slice(6), (id) => server.hosting.delete(id));
    ids = ids.slice(0, 6);
    await server.kill();
    await engine.cutPower();
    await engine.start();
    await server.start();
    await allAnswer();
    expect(await counts()).toEqual(ids.map(() => '1'));
  });

  test('leave nothing when they are deleted', async () => {
    await inParallel(atATime, ids, (id) => server.hosting.delete(id));
    await expect.poll(() => server.traces.left(), { timeout: 60_000 }).toEqual([]);
    await expect.poll(() => engine.strays(), { timeout: 60_000 }).toEqual([]);
    expect(await server.hosting.list()).toEqual([]);
  });
});
