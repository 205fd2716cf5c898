import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { soon } from '../conformance/sandbox.ts';
import type { TestSandbox } from '../conformance/sandbox.ts';
import { Installation } from '../providers/gvisor/support/installation.ts';
import { startPrivateEngine } from '../support/engine.ts';
import type { PrivateEngine } from '../support/engine.ts';
import { testHost } from '../support/host.ts';
import { untilFrozen } from './support/frozen.ts';

describe('an engine that is restarted while sandboxes are frozen', () => {
  let engine: PrivateEngine;
  let installation: Installation;
  let sandboxes: readonly TestSandbox[];

  beforeAll(async () => {
    const { image } = await testHost();
    engine = await startPrivateEngine({ images: [image] });
    const dockerHost = `unix://${engine.socket}`;
    installation = await Installation.make(systemClock, { dockerHost, idleFreezeMs: 200 });
    sandboxes = [await installation.created(), await installation.created()];
  });
  afterAll(async () => {
    await installation[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });
  const frozen = async (): Promise<void> => {
    for (const { spec } of sandboxes) await untilFrozen(engine.docker, spec.sandboxName);
  };

  test.each([
    ['is stopped', () => engine.stop()],
    ['is killed', () => engine.kill()],
  ])('%s and comes back: they answer, and are frozen again', async (_, end) => {
    await frozen();
    await end();
    await engine.start();
    const [first] = sandboxes;
    expect((await first?.sh('echo $$'))?.exitCode).toBe(0);
    await frozen();
  });

  test('comes back with what a killed server froze', async () => {
    await frozen();
    await installation.provider[Symbol.asyncDispose]();
    await engine.kill();
    await engine.start();
    await using other = installation.restarted();
    expect(await other.list(soon())).toMatchObject([{ state: 'running' }, { state: 'running' }]);
    for (const { spec } of sandboxes) {
      const { events } = await other.exec(spec, { argv: ['true'] }, soon());
      expect(await Array.fromAsync(events)).toMatchObject([{ type: 'exit', exitCode: 0 }]);
    }
    await frozen();
    for (const { spec } of sandboxes) await other.destroy(spec, soon());
  });
});
