import { access, readdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';

import { askEngine } from '../../src/host/docker/engine.ts';
import { mountPoints } from '../../src/host/probes/disk.ts';
import { tryRuntime } from '../../src/host/runsc/try-runtime.ts';
import { startPrivateEngine } from '../support/engine.ts';

test('runs a gVisor container, stops, crashes, starts again and leaves nothing behind', async () => {
  const before = await bridges();
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

  // The machine's own bridges are not this engine's to change.
  expect(await bridges()).toEqual(expect.arrayContaining(before));
  const directory = dirname(engine.socket);
  await expect(stat(directory)).rejects.toThrow('ENOENT');
  const mounts = mountPoints(await readFile('/proc/self/mountinfo', 'utf8'));
  expect(mounts.filter((path) => path.startsWith(directory))).toEqual([]);
});

/** Also those that no container uses at the moment. */
async function bridges(): Promise<string[]> {
  const names = await readdir('/sys/class/net');
  const found = await Promise.all(
    names.map((name) =>
      access(`/sys/class/net/${name}/bridge`).then(
        () => [name],
        () => [],
      ),
    ),
  );
  return found.flat();
}
