import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { GuestSandboxes } from '../../../src/providers/gvisor/guest-sandboxes.ts';
import { Conversation, soon } from '../../conformance/sandbox.ts';
import type { TestSandbox } from '../../conformance/sandbox.ts';
import { Installation } from './support/installation.ts';

const lost = { code: 'files_lost' };

/** What resume makes of a sandbox that was found in pieces. */
describe('ContainerProvider.resume', () => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await Installation.make();
  });
  afterAll(async () => {
    const left = await installation.clean();
    await installation[Symbol.asyncDispose]();
    expect(left).toEqual([]);
  });

  const resume = ({ spec }: TestSandbox): ReturnType<Installation['provider']['resume']> =>
    installation.provider.resume(spec, spec, soon());
  const stop = ({ spec }: TestSandbox): Promise<void> => installation.provider.stop(spec, soon());

  test('what was written outside /workspace is there after stop and resume', async () => {
    await using sandbox = await installation.created();
    await sandbox.sh('echo mine > /root/kept; echo ours > /workspace/kept');
    await stop(sandbox);
    const { metadata } = await resume(sandbox);
    const seen = await sandbox.sh('cat /root/kept /workspace/kept');
    expect(seen.stdout.toString()).toBe('mine\nours\n');
    expect(metadata).not.toHaveProperty('rebuilt');
  });

  test.each([
    ['cannot be started', ['/no/such/program'], /cannot be started/],
    ['ends at once', ['sh', '-c', 'exit 9'], /exited with code 9/],
  ])('a container that %s is built anew on the same volume', async (_how, entrypoint, why) => {
    await using sandbox = await installation.created();
    await sandbox.write('kept', Buffer.from('before'));
    await stop(sandbox);
    await installation.replaceContainer(sandbox.spec, entrypoint);
    const { metadata } = await resume(sandbox);
    expect((await sandbox.read('kept')).toString()).toBe('before');
    expect(metadata['rebuilt']).toEqual({
      at: expect.any(String) as unknown,
      why: expect.stringMatching(why) as unknown,
    });
  });

  test('a paused container goes on, with what ran in it', async () => {
    await using sandbox = await installation.created();
    const talk = new Conversation(await sandbox.start(['cat'], { stdin: true }));
    await installation.docker.getContainer(sandbox.spec.sandboxName).pause();
    const paused = { state: 'running' };
    expect(await installation.provider.list(soon())).toMatchObject([paused]);
    await resume(sandbox);
    await talk.say('still here\n');
    await talk.hear('still here\n');
  });

  test('a stop that was interrupted after its commands had ended is finished first', async () => {
    await using sandbox = await installation.created();
    await sandbox.write('kept', Buffer.from('before'));
    const { docker, options } = installation;
    const guests = new GuestSandboxes({
      docker,
      key: options.key,
      onIncident: () => undefined,
      idleFreezeMs: null,
      clock: systemClock,
      log: options.log,
    });
    await guests.of(sandbox.spec).terminate(1_000, soon());
    await expect(sandbox.start(['true'])).rejects.toMatchObject({ code: 'interrupted' });
    await resume(sandbox);
    expect((await sandbox.sh('cat kept')).stdout.toString()).toBe('before');
    guests.closeAll();
  });

  test('a volume that the engine made up for a missing one holds no files', async () => {
    await using sandbox = await installation.created();
    await installation.removeContainer(sandbox.spec);
    await installation.removeFiles(sandbox.spec);
    await installation.createContainer(sandbox.spec, ['true']);
    expect(await installation.hasVolume(sandbox.spec)).toBe(true);
    expect(await installation.provider.list(soon())).toMatchObject([
      {
        state: 'stopped',
        hasFiles: false,
        parts: [`container ${sandbox.spec.sandboxName}`],
        reason: 'was never started',
      },
    ]);
    await expect(resume(sandbox)).rejects.toMatchObject(lost);
    await sandbox.destroy();
    expect(await installation.hasVolume(sandbox.spec)).toBe(false);
  });

  test('a disk is enough, also where the engine has made up a volume for its container', async () => {
    await using sandbox = await installation.created();
    await sandbox.sh('printf before > kept');
    await installation.removeContainer(sandbox.spec);
    await installation.removeVolume(sandbox.spec);
    expect(await installation.provider.list(soon())).toMatchObject([
      { state: 'stopped', hasFiles: true, parts: installation.diskParts(sandbox.spec) },
    ]);
    await resume(sandbox);
    expect((await sandbox.sh('cat kept')).stdout.toString()).toBe('before');
    await installation.removeContainer(sandbox.spec);
    await installation.removeVolume(sandbox.spec);
    await installation.createContainer(sandbox.spec, ['true']);
    expect(await installation.provider.list(soon())).toMatchObject([{ hasFiles: true }]);
    await resume(sandbox);
    expect((await sandbox.sh('cat kept')).stdout.toString()).toBe('before');
  });

  test('a resume that fails leaves the files, and no container that runs', async () => {
    await using sandbox = await installation.created();
    await sandbox.write('kept', Buffer.from('before'));
    await stop(sandbox);
    await installation.removeContainer(sandbox.spec);
    const spec = { ...sandbox.spec, image: 'emergent-workspace:never-built' };
    const failing = installation.provider.resume(spec, spec, soon());
    await expect(failing).rejects.toMatchObject({ code: 'image_not_found' });
    expect(await installation.provider.list(soon())).toMatchObject([
      { state: 'stopped', hasFiles: true },
    ]);
    await resume(sandbox);
    expect((await sandbox.read('kept')).toString()).toBe('before');
  });

  test('a container of another installation is not touched', async () => {
    await using sandbox = await installation.created();
    await installation.removeContainer(sandbox.spec);
    await installation.createContainer(sandbox.spec, ['true'], 'somebody else');
    await expect(resume(sandbox)).rejects.toThrow('belongs to another installation');
    const theirs = installation.docker.getContainer(sandbox.spec.sandboxName);
    expect((await theirs.inspect()).State.Status).toBe('created');
    await theirs.remove();
  });
});
