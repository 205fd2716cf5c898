import { randomUUID } from 'node:crypto';
import { copyFile, appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { labels } from '../../../src/providers/gvisor/container-spec.ts';
import { soon } from '../../conformance/sandbox.ts';
import { Installation } from './support/installation.ts';

test('an agent volume that was swept meanwhile is made again before a container needs it', async () => {
  await using cleanup = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'emergent-agent-'));
  cleanup.defer(() => rm(directory, { recursive: true }));
  const shared = cleanup.use(await Installation.make());
  const { agentPaths } = shared.options;
  if (!agentPaths) throw new Error('the guest agent is not built');
  // An agent that differs, so that its volume is this test's own.
  const agent = join(directory, 'agent');
  await copyFile(agentPaths[process.arch === 'arm64' ? 'arm64' : 'amd64'], agent);
  await appendFile(agent, randomUUID());
  const own = cleanup.use(
    new Installation({ ...shared.options, agentPaths: { amd64: agent, arm64: agent } }),
  );
  const volumeOf = async (sandboxName: string): Promise<string> => {
    const { Mounts } = await own.docker.getContainer(sandboxName).inspect();
    return Mounts.find(({ Destination }) => Destination === '/.emergent')?.Name ?? '';
  };

  const first = await own.created();
  const volume = own.docker.getVolume(await volumeOf(first.spec.sandboxName));
  await first.destroy();
  await volume.remove();

  const second = await own.created();
  expect(await volumeOf(second.spec.sandboxName)).toBe(volume.name);
  expect((await second.sh('echo works')).stdout.toString()).toBe('works\n');
  expect((await volume.inspect()).Labels).toEqual({ [labels.kind]: 'agent' });
  await second.destroy();
  await volume.remove();
  expect(await own.provider.list(soon())).toEqual([]);
});
