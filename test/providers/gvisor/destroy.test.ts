import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { goodbye, properGoodbye, saysGoodbye } from '../../conformance/goodbye.ts';
import { Conversation, soon } from '../../conformance/sandbox.ts';
import { Installation } from './support/installation.ts';

/** What killed servers leave, and servers that work on the same sandbox at once. */
describe('ContainerProvider.destroy', () => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await Installation.make();
  });
  afterAll(async () => {
    const left = await installation.clean();
    await installation[Symbol.asyncDispose]();
    expect(left).toEqual([]);
  });

  test('takes what is there: only a volume, only a container, one that was never started', async () => {
    const { provider } = installation;
    const [onlyVolume, neverStarted] = [await installation.created(), await installation.created()];
    await installation.removeContainer(onlyVolume.spec);
    await installation.replaceContainer(neverStarted.spec, ['true']);
    const onlyContainer = installation.sandbox();
    await installation.createContainer(onlyContainer.spec, ['true']);
    for (const { spec } of [onlyVolume, neverStarted, onlyContainer]) {
      await provider.destroy(spec, soon());
      expect(await installation.hasVolume(spec)).toBe(false);
    }
    expect(await provider.list(soon())).toEqual([]);
  });

  test('waits for a removal that somebody else has begun', async () => {
    const sandbox = await installation.created();
    const container = installation.docker.getContainer(sandbox.spec.sandboxName);
    const removals = [1, 2, 3].map(() => container.remove({ force: true }));
    await Promise.all([sandbox.destroy(), sandbox.destroy(), Promise.allSettled(removals)]);
    expect(await installation.hasVolume(sandbox.spec)).toBe(false);
  });

  test('in the middle of the create, stop or resume of another server, leaves nothing', async () => {
    await using other = installation.restarted();
    const sandbox = installation.sandbox();
    const { spec } = sandbox;
    const others = [
      () => other.create(spec, soon()),
      () => other.stop(spec, soon()),
      () => other.resume(spec, spec, soon()),
    ];
    for (const work of others) {
      await installation.provider.create(spec, soon());
      const [working] = await Promise.allSettled([work(), sandbox.destroy()]);
      // Whatever came of the other: what is left is what it has made since, and the next destroy takes that.
      expect(['fulfilled', 'rejected']).toContain(working.status);
      await sandbox.destroy();
      expect(await installation.provider.list(soon())).toEqual([]);
      expect(await installation.hasVolume(spec)).toBe(false);
    }
  });

  test('lets the commands of a paused container end by themselves', async () => {
    const sandbox = await installation.created();
    const talk = new Conversation(await sandbox.start(saysGoodbye));
    await talk.hear('ready');
    await installation.docker.getContainer(sandbox.spec.sandboxName).pause();
    await sandbox.destroy();
    expect(await goodbye(talk)).toEqual(properGoodbye);
  });

  test('does not touch the container of another installation', async () => {
    const sandbox = installation.sandbox();
    await installation.createContainer(sandbox.spec, ['true'], 'somebody else');
    const theirs = installation.docker.getContainer(sandbox.spec.sandboxName);
    await expect(installation.provider.create(sandbox.spec, soon())).rejects.toThrow();
    expect((await theirs.inspect()).State.Status).toBe('created');
    await theirs.remove();
    await sandbox.destroy();
  });
});

describe('ContainerProvider.create', () => {
  test('leaves nothing when it fails', async () => {
    await using installation = await Installation.make();
    const { spec } = installation.sandbox();
    const failing = installation.provider.create(
      { ...spec, image: 'emergent-workspace:never-built' },
      soon(),
    );
    await expect(failing).rejects.toMatchObject({ code: 'image_not_found' });
    expect(await installation.provider.list(soon())).toEqual([]);
    expect(await installation.hasVolume(spec)).toBe(false);
  });
});
