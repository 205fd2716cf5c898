import { describe, expect, test } from 'vitest';
import { EmergentError } from '../../../../src/domain/errors.ts';
import { missingProgram } from '../../../../src/domain/missing-program.ts';
import {
  admin,
  config,
  eventTypes,
  request,
  setUpHosting,
  soon,
  untilHealth,
} from './support/hosting.ts';

describe('a hosted server', () => {
  test('is registered when it has introduced itself, as a row that never expires', async () => {
    const hosting = setUpHosting();
    const { workspace, health, state } = await hosting.servers.register(admin, request(), soon());
    expect(workspace).toMatchObject({
      ...{ containerType: 'mcp_server', lifecycle: 'persistent', status: 'ready' },
      ...{ expiresAt: null, ttlSeconds: null, owner: 'admin' },
      resourceLimits: { memoryBytes: 512 * 2 ** 20, diskBytes: 2 ** 30 },
    });
    expect(health).toMatchObject({ state: 'healthy', reason: null, crashLooping: false });
    expect(state.run?.introduction).toMatchObject({ serverInfo: { name: 'scripted' } });
    const { argv, env, heard } = hosting.programs.last;
    expect({ argv, env }).toEqual({
      argv: ['/bin/scripted', '--now'],
      env: { SECRET: 'of the server' },
    });
    expect(heard.map(({ method }) => method)).toEqual(['initialize', 'notifications/initialized']);
  });

  test('its environment goes to its program, and not to whoever makes the sandbox', async () => {
    const hosting = setUpHosting();
    await hosting.servers.register(admin, request(), soon());
    expect(hosting.provider.create.mock.calls[0]?.[0].env).toEqual({});
    expect(JSON.stringify([...hosting.store.rows.values()])).not.toContain('of the server');
  });

  test('a program that is not there is refused, and nothing is left', async () => {
    const hosting = setUpHosting();
    hosting.programs.startProblem = missingProgram('/bin/scripted', 'not found', undefined);
    await expect(hosting.servers.register(admin, request(), soon())).rejects.toMatchObject({
      code: 'no_program',
      message: 'there is no program "/bin/scripted" in the image',
    });
    expect(hosting.store.rows.size).toBe(0);
    expect(hosting.provider.sandboxes.size).toBe(0);
  });

  test('only an admin registers', async () => {
    const hosting = setUpHosting();
    const agent = { tokenId: 'agent', role: 'agent' } as const;
    await expect(hosting.servers.register(agent, request(), soon())).rejects.toMatchObject({
      code: 'forbidden',
    });
    expect(hosting.store.rows.size).toBe(0);
  });

  test('is used by others than its owner where it is shared, and changed by none of them', async () => {
    const hosting = setUpHosting();
    const { servers } = hosting;
    await servers.register(admin, request({ shared: true }), soon());
    await servers.register(admin, request({ name: 'own' }), soon());
    const agent = { tokenId: 'agent', role: 'agent' } as const;
    expect((await servers.list(agent)).map(({ config: { name } }) => name)).toEqual(['scripted']);
    await expect(servers.get(agent, 'own')).rejects.toMatchObject({ code: 'mcp_server_not_found' });
    const ping = { method: 'ping' };
    const options = { timeoutMs: 1_000, signal: soon() };
    expect(await servers.call(agent, 'scripted', ping, options)).toEqual({ result: {} });
    await expect(servers.stop(agent, 'scripted')).rejects.toMatchObject({ code: 'forbidden' });
    await expect(servers.delete(agent, 'scripted', { keepVolumes: false })).rejects.toMatchObject({
      code: 'forbidden',
    });
  });

  test('a program that crashes is started again at once, and what it left is ended before', async () => {
    const hosting = setUpHosting();
    await hosting.servers.register(admin, request(), soon());
    hosting.programs.last.say('stderr', 'out of ideas\n');
    hosting.programs.last.end(1);
    await expect.poll(() => hosting.programs.started.length).toBe(2);
    await untilHealth(hosting, 'healthy');
    expect(hosting.programs.endedAll).toHaveLength(1);
    const { state } = await hosting.servers.get(admin, config.name);
    expect(state).toMatchObject({ restarts: 1, lastExit: { exitCode: 1, signal: null } });
    await expect
      .poll(() => eventTypes(hosting))
      .toEqual(['mcp.started', 'mcp.crashed', 'mcp.started']);
    const lines = await hosting.servers.logs(admin, config.name, 10);
    expect(lines.map(({ stream, text }) => `${stream}: ${text}`)).toEqual([
      'stderr: out of ideas',
      'host: exited with code 1',
    ]);
  });

  test('one that keeps crashing waits for longer each time, is told of, and starts at once when told to', async () => {
    const hosting = setUpHosting();
    const { clock, programs, servers } = hosting;
    await servers.register(admin, request(), soon());
    for (const restarts of [1, 2, 3]) {
      programs.last.end(1);
      await expect
        .poll(() => eventTypes(hosting).filter((t) => t === 'mcp.crashed').length)
        .toBe(restarts);
      await untilHealth(hosting, restarts === 1 ? 'healthy' : 'waiting');
      await clock.advance(1_000);
      await untilHealth(hosting, 'healthy');
    }
    programs.last.end(1);
    await untilHealth(hosting, 'waiting');
    const { health } = await servers.get(admin, config.name);
    expect(health).toMatchObject({
      ...{ state: 'waiting', crashLooping: true, reason: 'exited with code 1' },
      nextStartAt: new Date(clock.now().getTime() + 5_000),
    });
    expect(eventTypes(hosting).at(-1)).toBe('mcp.crash_loop');
    const call = servers.call(
      admin,
      config.name,
      { method: 'ping' },
      { timeoutMs: 100, signal: soon() },
    );
    await expect(call).rejects.toMatchObject({ code: 'mcp_unavailable' });
    const restarted = await servers.restart(admin, config.name, soon());
    expect(restarted).toMatchObject({
      health: { state: 'healthy', crashLooping: false },
      state: { restarts: 0, crashes: [] },
    });
  });

  test('exit 0 is left as it is, unless it is to run always', async () => {
    const hosting = setUpHosting();
    await hosting.servers.register(admin, request({ restartPolicy: 'on-failure' }), soon());
    hosting.programs.last.end(0);
    await untilHealth(hosting, 'ended');
    expect(hosting.programs.started).toHaveLength(1);
    const started = await hosting.servers.start(admin, config.name, soon());
    expect(started.health.state).toBe('healthy');
    expect(hosting.programs.started).toHaveLength(2);
  });

  test('told to restart while what it left is still being ended, it starts', async () => {
    const hosting = setUpHosting();
    await hosting.servers.register(admin, request({ restartPolicy: 'never' }), soon());
    const gate = Promise.withResolvers<void>();
    const { endAll } = hosting.programs;
    Object.assign(hosting.provider.processes, {
      endAll: async (...args: Parameters<typeof endAll>) => {
        await gate.promise;
        await endAll(...args);
      },
    });
    hosting.programs.last.end(1);
    await untilHealth(hosting, 'starting');
    const restarting = hosting.servers.restart(admin, config.name, soon());
    await expect
      .poll(async () => (await hosting.servers.get(admin, config.name)).health.reason)
      .toBe('it was told to restart');
    gate.resolve();
    expect((await restarting).health.state).toBe('healthy');
    expect(hosting.programs.started).toHaveLength(2);
  });

  test('what somebody stopped stays stopped, and starts when it is told to', async () => {
    const hosting = setUpHosting();
    const { servers, programs } = hosting;
    await servers.register(admin, request(), soon());
    hosting.provider.stop.mockImplementationOnce(async (ref) => {
      programs.last.end(143, 'SIGTERM');
      hosting.provider.stopped.add(ref.sandboxName);
    });
    const stopped = await servers.stop(admin, config.name);
    expect(stopped.workspace).toMatchObject({ status: 'stopped', desiredState: 'stopped' });
    await untilHealth(hosting, 'stopped');
    await hosting.clock.advance(120_000);
    expect(programs.started).toHaveLength(1);
    expect((await servers.get(admin, config.name)).state).toMatchObject({
      crashes: [],
      restarts: 0,
    });
    const started = await servers.start(admin, config.name, soon());
    expect(started).toMatchObject({ workspace: { status: 'ready' }, health: { state: 'healthy' } });
  });

  test('a sandbox that is lost is brought back, and the program with it', async () => {
    const hosting = setUpHosting();
    await hosting.servers.register(admin, request(), soon());
    hosting.programs.last.vanish();
    await expect.poll(() => hosting.programs.started.length).toBe(2);
    await untilHealth(hosting, 'healthy');
    expect(hosting.provider.resume).toHaveBeenCalledTimes(1);
  });

  test('one without volumes is made anew where nothing is left of it; one with volumes is not', async () => {
    const hosting = setUpHosting();
    const { servers, provider, programs } = hosting;
    const { workspace } = await servers.register(admin, request(), soon());
    const loseIt = (name: string): void => {
      provider.sandboxes.delete(name);
      programs.last.vanish();
    };
    loseIt(workspace.providerWorkspaceId);
    await untilHealth(hosting, 'unavailable');
    await hosting.clock.advance(1_000);
    await expect.poll(() => programs.started.length).toBe(2);
    await untilHealth(hosting, 'healthy');

    const keeper = await servers.register(
      admin,
      request({ name: 'keeper', volumes: ['/data'] }),
      soon(),
    );
    loseIt(keeper.workspace.providerWorkspaceId);
    await untilHealth(hosting, 'unavailable', 'keeper');
    await hosting.clock.advance(30_000);
    expect((await servers.get(admin, 'keeper')).workspace.status).toBe('error');
    expect(programs.started).toHaveLength(3);
  });

  test('a provider that is away is tried again until it is back', async () => {
    const hosting = setUpHosting();
    await hosting.servers.register(admin, request(), soon());
    const away = new EmergentError('provider_unavailable', 'no engine');
    hosting.provider.resume.mockRejectedValueOnce(away).mockRejectedValueOnce(away);
    hosting.programs.last.vanish();
    await untilHealth(hosting, 'unavailable');
    await hosting.clock.advance(500);
    await hosting.clock.advance(1_000);
    await untilHealth(hosting, 'healthy');
    expect(hosting.provider.resume).toHaveBeenCalledTimes(3);
  });
});
