import { describe, expect, test } from 'vitest';
import {
  admin,
  config,
  eventTypes,
  request,
  setUpHosting,
  soon,
  untilHealth,
} from './support/hosting.ts';
import type { Hosting } from './support/hosting.ts';
import { wellBehaved } from './support/scripted-programs.ts';

/** Another server of ours after that one was killed: nothing of it had time to say good-bye. */
async function afterKill(killed: Hosting): Promise<Hosting> {
  killed.store.alive.delete(killed.store.server);
  const next = setUpHosting(killed);
  next.host.start();
  await next.clock.advance(0);
  return next;
}

describe('after a kill of the server that hosted it', () => {
  test('a program that runs is taken up where it is: not started, and not asked who it is', async () => {
    const killed = setUpHosting();
    await killed.servers.register(admin, request(), soon());
    const program = killed.programs.last;
    program.say('stderr', 'from before\n');
    const next = await afterKill(killed);
    await untilHealth(next, 'healthy');
    expect(next.programs.started).toEqual([program]);
    const server = await next.servers.get(admin, config.name);
    expect(server.state.run?.introduction?.serverInfo.name).toBe('scripted');
    const options = { timeoutMs: 1_000, signal: soon() };
    expect(await next.servers.call(admin, config.name, { method: 'ping' }, options)).toEqual({
      result: {},
    });
    expect(program.heard.filter(({ method }) => method === 'initialize')).toHaveLength(1);
    await expect
      .poll(async () => (await next.servers.logs(admin, config.name, 5)).map(({ text }) => text))
      .toContain('from before');
    await next.host[Symbol.asyncDispose]();
  });

  test('one that had not introduced itself is started anew', async () => {
    const killed = setUpHosting();
    killed.programs.script = () => undefined;
    void killed.servers.register(admin, request(), soon()).catch(() => undefined);
    await expect.poll(() => killed.programs.started.length).toBe(1);
    await expect.poll(() => killed.programs.started[0]?.heard.length).toBe(1);
    killed.programs.script = wellBehaved;
    const next = await afterKill(killed);
    await untilHealth(next, 'healthy');
    expect(next.programs.started).toHaveLength(2);
    expect(next.programs.started[0]?.exit).toMatchObject({ signal: 'SIGTERM' });
    expect((await next.servers.get(admin, config.name)).state.crashes).toEqual([]);
    await killed.host.forget([...killed.store.rows.keys()][0] ?? '');
    await next.host[Symbol.asyncDispose]();
  });

  test('one that has crashed meanwhile is started again, and the crash is told', async () => {
    const killed = setUpHosting();
    await killed.servers.register(admin, request(), soon());
    await killed.host.forget((await killed.servers.get(admin, config.name)).workspace.id);
    killed.programs.last.end(9);
    const next = await afterKill(killed);
    await expect.poll(() => next.programs.started.length).toBe(2);
    await untilHealth(next, 'healthy');
    expect(eventTypes(next)).toContain('mcp.crashed');
    await next.host[Symbol.asyncDispose]();
  });

  test('one that has ended for good stays so', async () => {
    const killed = setUpHosting();
    await killed.servers.register(admin, request({ restartPolicy: 'never' }), soon());
    killed.programs.last.end(1);
    await untilHealth(killed, 'ended');
    const next = await afterKill(killed);
    await untilHealth(next, 'ended');
    expect(next.programs.started).toHaveLength(1);
    await next.host[Symbol.asyncDispose]();
  });

  test('one that waits for its restart goes on waiting', async () => {
    const killed = setUpHosting();
    await killed.servers.register(admin, request(), soon());
    while (killed.programs.started.length < 4) {
      await untilHealth(killed, 'healthy');
      const before = killed.programs.started.length;
      killed.programs.last.end(1);
      await untilHealth(killed, before === 1 ? 'healthy' : 'waiting');
      await killed.clock.advance(1_000);
    }
    await untilHealth(killed, 'healthy');
    killed.programs.last.end(1);
    await untilHealth(killed, 'waiting');
    const next = await afterKill(killed);
    await untilHealth(next, 'waiting');
    await next.clock.advance(5_000);
    await untilHealth(next, 'healthy');
    await next.host[Symbol.asyncDispose]();
  });
});

describe('when the server stops', () => {
  test('programs are told to end, with their grace, and run again with the next', async () => {
    const first = setUpHosting();
    first.host.start();
    await first.servers.register(admin, request(), soon());
    await first.servers.register(admin, request({ name: 'second' }), soon());
    await first.host[Symbol.asyncDispose]();
    expect(first.provider.stop.mock.calls.map(([, , options]) => options)).toEqual([
      { graceMs: 30_000 },
      { graceMs: 30_000 },
    ]);
    const rows = [...first.store.rows.values()];
    expect(rows.map(({ status, desiredState }) => `${status} ${desiredState}`)).toEqual([
      'stopped running',
      'stopped running',
    ]);
    for (const program of first.programs.started) program.vanish();
    const next = await afterKill(first);
    await untilHealth(next, 'healthy');
    await untilHealth(next, 'healthy', 'second');
    const { state } = await next.servers.get(admin, 'second');
    expect(state).toMatchObject({ restarts: 0, crashes: [] });
    await next.host[Symbol.asyncDispose]();
  });

  test('another server of ours that is alive takes none of them up', async () => {
    const first = setUpHosting();
    await first.servers.register(admin, request(), soon());
    const other = setUpHosting(first);
    other.host.start();
    await expect(other.servers.restart(admin, config.name, soon())).rejects.toMatchObject({
      code: 'hosted_elsewhere',
    });
    const seen = await other.servers.get(admin, config.name);
    expect(seen.health).toMatchObject({ state: 'unavailable' });
    expect(seen.state.run).not.toBeNull();
    await other.host[Symbol.asyncDispose]();
    expect(first.provider.stop).not.toHaveBeenCalled();
  });
});

describe('one that is silent', () => {
  test('before it has introduced itself is unresponsive, and healthy when it does so at last', async () => {
    const hosting = setUpHosting();
    hosting.programs.script = () => undefined;
    const registering = hosting.servers.register(admin, request(), soon());
    await expect.poll(() => hosting.programs.started[0]?.heard.length).toBe(1);
    await hosting.clock.advance(30_000);
    const server = await registering;
    expect(server.health).toMatchObject({
      state: 'unresponsive',
      reason: 'it has not introduced itself within 30 seconds',
    });
    const [initialize] = hosting.programs.last.heard;
    hosting.programs.last.introduceItself(initialize?.id ?? '');
    await untilHealth(hosting, 'healthy');
    expect(hosting.programs.started).toHaveLength(1);
  });

  test('after that is unresponsive, and never restarted for it', async () => {
    const hosting = setUpHosting();
    await hosting.servers.register(admin, request(), soon());
    hosting.programs.script = () => undefined;
    await hosting.clock.advance(30_000);
    await hosting.clock.advance(10_000);
    await untilHealth(hosting, 'unresponsive');
    await hosting.clock.advance(600_000);
    expect(hosting.programs.started).toHaveLength(1);
    hosting.programs.script = wellBehaved;
    await hosting.clock.advance(5_000);
    await untilHealth(hosting, 'healthy');
    expect(eventTypes(hosting)).toEqual(['mcp.started', 'mcp.unresponsive', 'mcp.responsive']);
  });
});

describe('deleting', () => {
  test('ends it, and everything of it goes', async () => {
    const hosting = setUpHosting();
    const { workspace } = await hosting.servers.register(admin, request(), soon());
    expect(
      await hosting.servers.delete(admin, config.name, { keepVolumes: false }),
    ).toBeUndefined();
    expect(hosting.store.rows.size).toBe(0);
    expect(hosting.host.supervisor(workspace.id)).toBeUndefined();
    expect(hosting.provider.destroy).toHaveBeenCalledTimes(1);
  });

  test('may keep its volumes, which the next one of its name is built on', async () => {
    const hosting = setUpHosting();
    const { servers, provider } = hosting;
    const wanted = request({ volumes: ['/data'] });
    const { workspace } = await servers.register(admin, wanted, soon());
    const kept = await servers.delete(admin, config.name, { keepVolumes: true });
    expect(kept).toMatchObject({ id: workspace.id, paths: ['/data'], name: config.name });
    expect(provider.destroy.mock.calls[0]?.[2]).toEqual({ keepFiles: true });
    provider.sandboxes.add(workspace.providerWorkspaceId);
    const again = await servers.register(admin, wanted, soon());
    expect(again).toMatchObject({ workspace: { id: workspace.id }, health: { state: 'healthy' } });
    expect(provider.create).toHaveBeenCalledTimes(1);
    expect(provider.resume).toHaveBeenCalledTimes(1);
    expect(await servers.keptVolumes(admin)).toEqual([]);
  });

  test('kept volumes can be removed', async () => {
    const hosting = setUpHosting();
    const { servers, provider } = hosting;
    const { workspace } = await servers.register(admin, request({ volumes: ['/data'] }), soon());
    await servers.delete(admin, config.name, { keepVolumes: true });
    await servers.removeKeptVolumes(admin, workspace.id);
    expect(provider.destroy.mock.calls[1]?.[2]).toEqual({});
    expect(await servers.keptVolumes(admin)).toEqual([]);
    await expect(servers.removeKeptVolumes(admin, workspace.id)).rejects.toMatchObject({
      code: 'volumes_not_found',
    });
  });
});
