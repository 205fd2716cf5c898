import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { HostProcess } from '../../../src/base/host-process.ts';
import { tarOf } from '../../../src/base/tar.ts';
import type { Leftover } from '../../../src/domain/provider.ts';
import { kinds, labels } from '../../../src/providers/gvisor/container-spec.ts';
import { run } from '../../../src/host/run.ts';
import { LoopDisks } from '../../../src/providers/gvisor/disk/loop-disks.ts';
import { ownerLabel, thisOwner, trialLabel } from '../../../src/base/process-owner.ts';
import { linkVolume } from '../../../src/providers/gvisor/disk/volume-link.ts';
import { sweep } from '../../../src/providers/gvisor/sweep.ts';
import { soon } from '../../conformance/sandbox.ts';
import { FakeClock } from '../../support/clock.ts';
import { startPrivateEngine } from '../../support/engine.ts';
import type { PrivateEngine } from '../../support/engine.ts';

const image = 'emergent-sweep-test';
const minute = 60_000;
const installationId = randomUUID();
/** Nothing that is to be swept is older. */
const begun = Date.now();

/** On an engine of its own: on a shared one it would take what other versions have just made. */
describe('sweep', () => {
  let engine: PrivateEngine;

  beforeAll(async () => {
    engine = await startPrivateEngine();
    await importRoot(image);
    for (const name of ['emergent-agent-own', 'emergent-agent-old', 'emergent-agent-used']) {
      await engine.docker.createVolume({
        Name: name,
        Labels: { [labels.kind]: kinds.agentVolume },
      });
    }
    await engine.docker.createVolume({ Name: 'emergent-agent-unlabelled' });
    await engine.docker.createVolume({ Name: 'somebody-elses' });
    await engine.docker.createVolume({ Name: 'not-an-emergent-agent-volume' });
    await container('helper-own', { [labels.kind]: kinds.probe });
    await container('helper-unlabelled', { [labels.kind]: kinds.agentVolumeHolder }, null);
    await container('helper-of-another', { [labels.kind]: kinds.probe }, randomUUID());
    await container('trial', { [trialLabel]: 'true' }, null);
    await container('workspace', { [labels.kind]: 'agent_workspace' }, installationId, [
      'emergent-agent-used',
    ]);
    await container('not-ours', {}, null);
  });
  afterAll(async () => {
    await engine[Symbol.asyncDispose]();
  });

  const importRoot = async (
    repo: string,
    options: { readonly changes?: string } = {},
  ): Promise<void> => {
    const root = await tarOf([{ name: 'empty', mode: 0o644, content: new Uint8Array() }]);
    const importing = await engine.docker.importImage(root as never, { repo, ...options });
    importing.resume();
    await once(importing, 'end');
  };

  const container = async (
    name: string,
    own: Record<string, string>,
    owner: string | null = installationId,
    volumes: readonly string[] = [],
  ): Promise<void> => {
    await engine.docker.createContainer({
      name,
      Image: image,
      Cmd: ['/empty'],
      Labels: { ...own, ...(owner !== null && { [labels.installation]: owner }) },
      HostConfig: {
        NetworkMode: 'none',
        Mounts: volumes.map((Source) => ({ Type: 'volume', Source, Target: '/agent' })),
      },
    });
  };

  const sweepAfter = (
    ms: number,
    dryRun: boolean,
    age: { readonly minAgeMs?: number } = {},
    from = Date.now(),
  ): Promise<readonly Leftover[]> => {
    const clock = new FakeClock(new Date(from + ms));
    const options = { docker: engine.docker, installationId, agentVolume: 'emergent-agent-own' };
    const loops = new LoopDisks(
      join(tmpdir(), `emergent-disks-${installationId}`),
      systemClock,
      run,
    );
    return sweep({ ...options, ...age, loops, clock }, dryRun, soon());
  };
  const names = (leftovers: readonly Leftover[]): readonly string[] =>
    leftovers.map(({ name }) => name).toSorted();

  const helpers = ['container helper-own', 'container helper-unlabelled', 'container trial'];

  test('what a probe has left goes as soon as its server is gone', async () => {
    const alive = await thisOwner();
    const dead = alive.replace(/\d+$/, '1');
    for (const [name, owner] of Object.entries({ alive, dead })) {
      const own = { [labels.kind]: kinds.probe, [ownerLabel]: owner };
      const volume = await engine.docker.createVolume({ Name: `probe-${name}`, Labels: own });
      const { Mountpoint } = await volume.inspect();
      await linkVolume(Mountpoint, '/nowhere/at/all');
      await container(`helper-${name}`, own, randomUUID(), [`probe-${name}`]);
      await container(`trial-${name}`, { [trialLabel]: 'true', [ownerLabel]: owner }, null);
      const changes = `LABEL ${trialLabel}=true ${ownerLabel}=${owner}`;
      await importRoot(`${image}:${name}`, { changes });
    }
    expect(names(await sweepAfter(0, false))).toEqual([
      'container helper-dead',
      'container trial-dead',
      expect.stringMatching(/^image sha256:/),
      'volume probe-dead',
    ]);
    await engine.docker.getContainer('helper-alive').remove();
    await engine.docker.getContainer('trial-alive').remove();
    await engine.docker.getImage(`${image}:alive`).remove();
    await engine.docker.getVolume('probe-alive').remove();
  });

  test('what is young may be in use, and is left alone', async () => {
    expect(await sweepAfter(9 * minute, false, {}, begun)).toEqual([]);
  });

  test('own helpers go earlier where that is asked for, and nothing else does', async () => {
    expect(names(await sweepAfter(2 * minute, true, { minAgeMs: minute }))).toEqual(helpers);
  });

  test('a hurry is with what is our own, not with what another process is using', async () => {
    const ours = await thisOwner();
    const { pid, startTime } = HostProcess.of(process.ppid) ?? { pid: 0, startTime: '' };
    const another = ours.replace(/\d+-\d+$/, `${String(pid)}-${startTime}`);
    for (const [name, owner] of Object.entries({ ours, another })) {
      const volume = { [labels.kind]: kinds.probe, [ownerLabel]: owner };
      await engine.docker.createVolume({ Name: `probe-${name}`, Labels: volume });
      await container(`trial-${name}`, { [trialLabel]: 'true', [ownerLabel]: owner }, null);
      const changes = `LABEL ${trialLabel}=true ${ownerLabel}=${owner}`;
      await importRoot(`${image}:${name}`, { changes });
    }
    expect(names(await sweepAfter(2 * minute, true, { minAgeMs: minute }))).toEqual([
      ...helpers,
      'container trial-ours',
      expect.stringMatching(/^image sha256:/),
      'volume probe-ours',
    ]);
    for (const name of ['ours', 'another']) {
      await engine.docker.getContainer(`trial-${name}`).remove();
      await engine.docker.getImage(`${image}:${name}`).remove();
      await engine.docker.getVolume(`probe-${name}`).remove();
    }
  });

  test('helpers go after ten minutes; those of others and unused agents after an hour', async () => {
    expect(names(await sweepAfter(11 * minute, true))).toEqual(helpers);
    const all = [
      'container helper-of-another',
      ...helpers,
      'volume emergent-agent-old',
      'volume emergent-agent-unlabelled',
    ];
    expect(names(await sweepAfter(61 * minute, true))).toEqual(all);
    const swept = await sweepAfter(61 * minute, false);
    expect(names(swept)).toEqual(all);
    for (const { why } of swept) expect(why).not.toBe('');
    expect(await sweepAfter(61 * minute, false)).toEqual([]);

    const containers = await engine.docker.listContainers({ all: true });
    const left = containers.map(({ Names }) => Names[0]).toSorted();
    expect(left).toEqual(['/not-ours', '/workspace']);
    const { Volumes } = await engine.docker.listVolumes();
    expect(Volumes.map(({ Name }) => Name).toSorted()).toEqual([
      'emergent-agent-own',
      'emergent-agent-used',
      'not-an-emergent-agent-volume',
      'somebody-elses',
    ]);
  });
});
