import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';

import { askEngine } from '../../src/host/docker/engine.ts';
import { mountPoints } from '../../src/host/probes/disk.ts';
import { tryRuntime } from '../../src/host/runsc/try-runtime.ts';
import { startPrivateEngine } from '../support/engine.ts';

test('runs a gVisor container, stops, crashes, starts again and leaves nothing behind', async () => {
  const before = await machinesBridge();
  const engine = await startPrivateEngine({ network: true });
  const endpoint = { kind: 'unix', socketPath: engine.socket } as const;
  const kernel = async (): Promise<string> =>
    (await tryRuntime(await askEngine(endpoint), 'runsc')).kernel;
  try {
    expect(await kernel()).toContain('gvisor');

    await engine.stop();
    await expect(askEngine(endpoint)).rejects.toThrow();
    await engine.start();
    expect(await kernel()).toContain('gvisor');

    await engine.kill();
    await expect(askEngine(endpoint)).rejects.toThrow();
    await engine.start();
    expect(await kernel()).toContain('gvisor');
  } finally {
    await engine[Symbol.asyncDispose]();
  }

  // It is not this engine's to change.
  expect(await machinesBridge()).toBe(before);
  const directory = dirname(engine.socket);
  await expect(stat(directory)).rejects.toThrow('ENOENT');
  const mounts = mountPoints(await readFile('/proc/self/mountinfo', 'utf8'));
  expect(mounts.filter((path) => path.startsWith(directory))).toEqual([]);
});

/** The number of the bridge that an engine has unless told, here the machine's own; made anew, it has another. */
function machinesBridge(): Promise<string> {
  return readFile('/sys/class/net/docker0/ifindex', 'utf8').catch(() => 'none');
}
