import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { plainProfile } from '../../../src/providers/gvisor/container-profile.ts';
import { soon } from '../../conformance/sandbox.ts';
import type { TestSandbox } from '../../conformance/sandbox.ts';
import { startPrivateEngine } from '../../support/engine.ts';
import type { PrivateEngine } from '../../support/engine.ts';
import { testHost } from '../../support/host.ts';
import { recordLog } from '../../support/log.ts';
import { diskState, nothing } from './support/disk-state.ts';
import { Installation } from './support/installation.ts';

/** An engine that is ended while it starts a container comes back without it; the sandbox runs on. */
describe('a sandbox that the engine has forgotten', () => {
  const opened = new AsyncDisposableStack();
  let engine: PrivateEngine;

  beforeAll(async () => {
    const { image } = await testHost();
    engine = opened.use(await startPrivateEngine({ images: [image] }));
  });
  afterAll(async () => {
    await opened.disposeAsync();
  });

  async function installationOf(changes: Parameters<typeof Installation.make>[1] = {}) {
    const dockerHost = `unix://${engine.socket}`;
    return Installation.make(systemClock, { dockerHost, diskMode: 'loop', ...changes });
  }

  async function idOf({ spec }: TestSandbox): Promise<string> {
    return (await engine.docker.getContainer(spec.sandboxName).inspect()).Id;
  }

  async function strays(): Promise<readonly string[]> {
    return (await engine.strays()).map(({ id }) => id).toSorted();
  }

  test('is ended when its workspace is destroyed, and no other', async () => {
    const { log, entries } = recordLog();
    await using installation = await installationOf({ log });
    const [first, second] = [await installation.created(), await installation.created()];
    const ids = [await idOf(first), await idOf(second)] as const;
    await engine.forget(ids);
    expect(await strays()).toEqual(ids.toSorted());

    await first.destroy();
    expect(await strays()).toEqual([ids[1]]);
    const said = entries().filter(({ level }) => level === 'warn');
    expect(said).toMatchObject([
      { workspace: first.spec.workspaceId, container: ids[0], pids: expect.any(Array) as unknown },
    ]);

    await second.destroy();
    expect(await strays()).toEqual([]);
    expect(await diskState(installation.options.diskDir)).toEqual(nothing);
  });

  test('is ended where it is a plain container, too', async () => {
    await using installation = await installationOf({ profile: plainProfile(true) });
    const sandbox = await installation.created();
    await engine.forget([await idOf(sandbox)]);
    expect(await strays()).not.toEqual([]);
    await sandbox.destroy();
    expect(await strays()).toEqual([]);
    expect(await diskState(installation.options.diskDir)).toEqual(nothing);
  });

  test('is not one that the engine knows, whatever it holds', async () => {
    await using installation = await installationOf();
    const sandbox = await installation.created();
    const files = installation.diskFiles(sandbox.spec);
    const holder = await engine.docker.createContainer({
      Image: installation.options.image,
      Entrypoint: ['sleep', 'infinity'],
      HostConfig: {
        NetworkMode: 'none',
        Mounts: [{ Type: 'bind', Source: files, Target: '/workspace' }],
      },
    });
    await holder.start();
    await expect(sandbox.destroy()).rejects.toThrow('is still used by /dev/loop');
    expect((await holder.inspect()).State.Running).toBe(true);

    await holder.remove({ force: true });
    await installation.provider.destroy(sandbox.spec, soon());
    expect(await diskState(installation.options.diskDir)).toEqual(nothing);
  });
});
