import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { Conversation, soon } from '../../conformance/sandbox.ts';
import { Installation } from './support/installation.ts';

/** What callers are told of a container that ended behind the provider's back. */
describe('a container that does not run', () => {
  const slept: number[] = [];
  /** No pause ends before: how long the engine takes for something is not what is looked at. */
  let meanwhile: Promise<unknown> = Promise.resolve();
  let installation: Installation;

  beforeAll(async () => {
    const clock = {
      ...systemClock,
      sleep: async (ms: number, signal?: AbortSignal) => {
        slept.push(ms);
        await meanwhile;
        await systemClock.sleep(ms, signal);
      },
    };
    installation = await Installation.make(clock, { idleFreezeMs: null });
  });
  afterAll(async () => {
    await installation[Symbol.asyncDispose]();
  });

  test('says how it ended, to a new command and in the list', async () => {
    await using sandbox = await installation.created();
    await installation.docker.getContainer(sandbox.spec.sandboxName).kill();
    const how = /exited with code 137 at 20\d\d-\d\d-\d\dT/;
    const refused = { code: 'sandbox_unreachable', message: expect.stringMatching(how) as unknown };
    await expect(sandbox.start(['true'])).rejects.toMatchObject(refused);
    await expect(sandbox.read('file')).rejects.toMatchObject(refused);
    const [found] = await installation.provider.list(soon());
    expect(found).toMatchObject({ state: 'stopped', hasFiles: true });
    expect(found?.reason).toMatch(how);

    await installation.removeContainer(sandbox.spec);
    await expect(sandbox.start(['true'])).rejects.toThrow('does not exist');
  });

  test('is not dialled again and again for a command that ran in it', async () => {
    await using sandbox = await installation.created();
    const talk = new Conversation(await sandbox.start(['cat'], { stdin: true }));
    await talk.say('hello\n');
    await talk.hear('hello\n');
    const { processes } = installation.provider;
    await processes.start(sandbox.spec, { argv: ['sleep', '1000'], id: 'silent' }, soon());
    const options = { offset: 0, follow: true };
    const output = await processes.attach(sandbox.spec, 'silent', options, soon());
    const attached = Array.fromAsync(output);
    slept.length = 0;
    const told = [talk.end(), attached].map((reading) =>
      expect(reading).rejects.toMatchObject({
        code: 'sandbox_unreachable',
        message: expect.stringMatching(/does not exist|is not running: exited/) as unknown,
      }),
    );
    meanwhile = installation.removeContainer(sandbox.spec);
    await meanwhile;
    await Promise.all(told);
    expect(slept.filter((ms) => ms > 1_000 && ms < 10_000)).toEqual([]);
  });
});
