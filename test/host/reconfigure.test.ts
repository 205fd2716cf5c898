import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

import { reconfigure, serves } from '../../src/host/docker/daemon.ts';
import { askEngine } from '../../src/host/docker/engine.ts';
import type { EngineInfo } from '../../src/host/docker/engine.ts';
import { RootAccess } from '../../src/host/root.ts';
import { tryRuntime } from '../../src/host/runsc/try-runtime.ts';
import { startPrivateEngine } from '../support/engine.ts';

test('a running engine takes a new runtime and gives it back, and no other engine is touched', async () => {
  await using running = await startPrivateEngine();
  const shared = await askEngine({ kind: 'unix', socketPath: '/var/run/docker.sock' });
  const engine = await askEngine({ kind: 'unix', socketPath: running.socket });
  const path = engine.info.Runtimes?.['runsc']?.path ?? '';
  const name = 'runsc-emergent';
  const root = new RootAccess('root');
  const { signal } = new AbortController();
  const has = (info: EngineInfo): boolean => info.Runtimes?.[name] !== undefined;

  const addRuntime = { name, path, runtimeArgs: ['--overlay2=none'] };
  await reconfigure(engine, { addRuntime }, has, root, signal);
  expect((await tryRuntime(engine, name)).kernel).toContain('gvisor');
  await reconfigure(engine, { removeRuntime: name }, (info) => !has(info), root, signal);

  const config = await readFile(join(dirname(running.socket), 'daemon.json'), 'utf8');
  expect(JSON.parse(config)).toMatchObject({ 'live-restore': true, runtimes: { runsc: { path } } });
  expect(config).not.toContain(name);
  expect((await askEngine(shared.endpoint)).info.Runtimes).toEqual(shared.info.Runtimes);
});

test('an engine is known by its socket', () => {
  const own = ['dockerd', '--host', 'unix:///tmp/x/docker.sock'];
  expect(serves(own, '/tmp/x/docker.sock', false)).toBe(true);
  expect(serves(own, '/var/run/docker.sock', false)).toBe(false);
  expect(serves(['dockerd'], '/var/run/docker.sock', true)).toBe(true);
  expect(serves(['dockerd'], '/tmp/x/docker.sock', true)).toBe(false);
});
