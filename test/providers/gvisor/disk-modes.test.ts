import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { DiskModes } from '../../../src/providers/gvisor/disk/disk-modes.ts';
import type { DiskModesOptions } from '../../../src/providers/gvisor/disk/disk-modes.ts';
import { quotaVolume } from '../../../src/providers/gvisor/disk/disk-mode.ts';
import { KnownModes } from '../../../src/providers/gvisor/disk/known-modes.ts';
import { run } from '../../../src/host/run.ts';
import { LoopDisks } from '../../../src/providers/gvisor/disk/loop-disks.ts';
import { whyDiskUnlimited, whyUnlimited } from '../../../src/providers/gvisor/disk/probe-limit.ts';
import { ownerIsGone, thisOwner } from '../../../src/base/process-owner.ts';
import { sweep } from '../../../src/providers/gvisor/sweep.ts';
import { soon } from '../../conformance/sandbox.ts';
import { FakeClock } from '../../support/clock.ts';
import { recordLog } from '../../support/log.ts';
import { diskState, nothing } from './support/disk-state.ts';
import { Installation } from './support/installation.ts';

/** The choice is made by filling volumes of a real engine, whose file system here has no quotas. */
let installation: Installation;
let loops: LoopDisks;
let before: number;
const directory = (): string => installation.options.diskDir;

beforeAll(async () => {
  installation = await Installation.make();
  loops = new LoopDisks(join(directory(), 'probing'), systemClock, run);
});
beforeEach(async () => {
  before = await onEngine();
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

/** How many containers and volumes. */
async function onEngine(): Promise<number> {
  const { installationId } = installation.options;
  const filters = { label: [`dev.emergent.installation=${installationId}`] };
  const { Volumes } = await installation.docker.listVolumes({ filters });
  return Volumes.length + (await installation.docker.listContainers({ all: true, filters })).length;
}

function modes(changes: Partial<DiskModesOptions> = {}): DiskModes {
  const { docker, options } = installation;
  const remembered = remembers(randomUUID());
  const parts = { ...options, docker, remembered, disks: loops };
  return new DiskModes({ ...parts, setting: 'auto', ...changes });
}

function remembers(name: string): KnownModes {
  return new KnownModes(join(directory(), name), 'auto', installation.options.log);
}

const mark = { name: 'test', owner: 'nobody' };

async function expectNothingLeft(): Promise<void> {
  expect(await diskState(directory())).toEqual(nothing);
  expect(await onEngine()).toBe(before);
}

test('auto takes what works: loop here, and says why not quota', async () => {
  const choice = await modes().choose('engine', soon());
  expect(choice).toMatchObject({
    mode: 'loop',
    reason: expect.stringMatching(/^quota: /) as string,
  });
  await expectNothingLeft();
});

test('a volume without a limit is seen through', async () => {
  const { docker, options } = installation;
  expect(await whyUnlimited({ ...options, docker }, mark, {}, soon())).toBe(
    'a volume took more than its limit',
  );
  await expectNothingLeft();
});

test('a disk that the engine cannot see is no limit', async () => {
  const { docker, options } = installation;
  const nowhere = '/nowhere/at/all';
  const reason = await whyDiskUnlimited({ ...options, docker }, mark, nowhere, soon());
  expect(reason).toMatch(/no such file or directory/);
  await expectNothingLeft();
});

test('what is asked for is that or nothing', async () => {
  const choosing = modes({ setting: 'quota' }).choose('engine', soon());
  await expect(choosing).rejects.toMatchObject({ code: 'provider_unavailable' });
  expect(await modes({ setting: 'monitor' }).choose('engine', soon())).toMatchObject({
    mode: 'monitor',
  });
  expect(quotaVolume(1024)).toEqual({ size: '1024' });
});

test('on a remote engine the limit is only watched, with every reason, and tried again later', async () => {
  const clock = new FakeClock();
  const { log, lines } = recordLog();
  const remote = modes({ dockerHost: 'tcp://192.0.2.1:2375', clock, log });
  const choice = await remote.choose('engine', soon());
  expect(choice.mode).toBe('monitor');
  expect(choice.reason).toMatch(/quota: .*; loop: the engine is not on this host/);
  expect(lines).toHaveLength(1);
  expect(await remote.choose('engine', soon())).toBe(choice);
  await clock.advance(10 * 60_000);
  expect(await remote.choose('engine', soon())).not.toBe(choice);
});

test('what was found is remembered by the next server, until it turns out wrong', async () => {
  const remembered = remembers('remembered');
  const found = await modes({ remembered }).choose('engine', soon());
  // Nothing is tried on it: it answers no call.
  const docker = {} as Docker;
  const next = modes({ remembered, docker });
  expect(await next.choose('engine', soon())).toEqual(found);
  await expect(modes({ remembered, docker }).choose('another', soon())).rejects.toThrow();
  await next.forget();
  await expect(modes({ remembered, docker }).choose('engine', soon())).rejects.toThrow();
});

test('that nothing works is not remembered, and what cannot be read is tried again', async () => {
  const dockerHost = 'tcp://192.0.2.1:2375';
  const remembered = remembers('none');
  await modes({ remembered, dockerHost }).choose('engine', soon());
  expect(await remembered.find('engine')).toBeUndefined();
  await mkdir(join(directory(), 'none'), { recursive: true });
  await writeFile(join(directory(), 'none', 'disk-modes.json'), '[{"key":1},');
  expect(await remembered.find('engine')).toBeUndefined();
  await remembered.keep('engine', { mode: 'loop', reason: 'why' });
  expect(await remembered.find('engine')).toEqual({ mode: 'loop', reason: 'why' });
});

test('a host that cannot hold disks is a reason', async () => {
  const disks = new LoopDisks('/dev/null/disks', systemClock, run);
  expect(await modes({ disks }).choose('engine', soon())).toMatchObject({ mode: 'monitor' });
});

test('asked at once, it is tried once; another engine is tried anew', async () => {
  const one = modes();
  const [first, second] = await Promise.all([one.choose('a', soon()), one.choose('a', soon())]);
  expect(second).toBe(first);
  expect(await one.choose('b', soon())).not.toBe(first);
});

test('an engine that does not answer, and a missing image, decide nothing', async () => {
  const noImage = modes({ image: 'no-such-image:ever' }).choose('engine', soon());
  await expect(noImage).rejects.toMatchObject({ code: 'provider_failed' });
  await expectNothingLeft();
});

test('the owner of a probe is told from those before it', async () => {
  const owner = await thisOwner();
  expect(await ownerIsGone(owner)).toBe(false);
  expect(await ownerIsGone(`${owner}-1234abcd`)).toBe(false);
  expect(await ownerIsGone(owner.replace(/\d+$/, '1'))).toBe(true);
  expect(await ownerIsGone(owner.replace(/^\w+/, 'elsewhere'))).toBe(false);
  expect(await ownerIsGone('nobody')).toBe(false);
});

test('the disk of a killed probe is no sandbox, and is swept when its server is gone', async () => {
  const { installationId } = installation.options;
  const own = new LoopDisks(join(directory(), installationId), systemClock, run);
  const owner = await thisOwner();
  await own.make(own.probePlace(`${owner}-live`), 16 * 2 ** 20, soon());
  expect(await installation.provider.list(soon())).toEqual([]);
  // An engine with nothing on it: what lies about on the shared one is not this test's to sweep.
  const docker = {
    listContainers: () => Promise.resolve([]),
    listImages: () => Promise.resolve([]),
    listVolumes: () => Promise.resolve({ Volumes: [] }),
  } as unknown as Docker;
  const options = { docker, installationId, agentVolume: '', loops: own, clock: systemClock };
  expect(await sweep(options, false, soon())).toEqual([]);
  const wanted = [
    expect.objectContaining({ name: expect.stringMatching(/^disk .*probe-/) as string }),
  ];
  expect(await sweep({ ...options, minAgeMs: 0 }, true, soon())).toEqual(wanted);
  expect(await sweep({ ...options, minAgeMs: 0 }, false, soon())).toEqual(wanted);
  await own.make(own.probePlace(owner.replace(/\d+$/, '1')), 16 * 2 ** 20, soon());
  expect(await sweep(options, false, soon())).toEqual(wanted);
  await expectNothingLeft();
});

/** Stands in for an engine on a file system with project quotas, which this kernel does not have. */
function quotaEngine(words: string): Docker {
  const refused = Object.assign(new Error(words), { statusCode: 500, json: { message: words } });
  const container = {
    putArchive: () => Promise.reject(refused),
    remove: () => Promise.resolve(),
  };
  return { createContainer: () => Promise.resolve(container) } as unknown as Docker;
}

test('an engine whose volumes end in ENOSPC by themselves needs no disks', async () => {
  const docker = quotaEngine('write /fill: no space left on device');
  expect(await modes({ docker }).choose('engine', soon())).toEqual({ mode: 'quota' });
});

test('a volume that fails in another way does not hold the limit', async () => {
  const docker = quotaEngine('write /fill: input/output error');
  const choosing = modes({ docker, setting: 'quota' }).choose('engine', soon());
  await expect(choosing).rejects.toThrow(/input\/output error/);
});
