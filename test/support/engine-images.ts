import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { systemClock } from '../../src/base/clock.ts';
import { findEngine } from '../../src/host/docker/engine.ts';
import type { Engine } from '../../src/host/docker/engine.ts';
import { cacheDir } from '../../src/host/paths.ts';
import { runOk } from '../../src/host/run.ts';
import { madeOnce } from './made-once.ts';

/** Starts an engine on the data directory `data`, hands it over, and stops it in order. */
export type WithEngine = (data: string, use: (docker: Docker) => Promise<void>) => Promise<void>;

/** Where an engine keeps images, below its data directory: what is known of them, and their layers. */
const records = 'image';
const layers = 'overlay2';

const makeMs = 170_000;
const copyMs = 60_000;
const unusedMs = 24 * 3_600_000;

/**
 * Puts images of the shared engine into the data directory of an engine that has never run. Handing hundreds of
 * megabytes from one engine to another takes many seconds of processor time; so that is done once on a machine, and
 * what came of it is copied. Layers are shared between the copies, as they are between containers: nobody writes to them.
 */
export async function plantImages(
  data: string,
  images: readonly string[],
  withEngine: WithEngine,
): Promise<void> {
  if (images.length === 0) return;
  const planted = await plantOf(images, withEngine);
  await mkdir(data, { mode: 0o710 });
  const near = (await stat(planted)).dev === (await stat(data)).dev;
  const copy = (name: string, how: string): Promise<unknown> =>
    runOk(['cp', '--archive', how, join(planted, name), data], { timeoutMs: copyMs });
  await copy(records, '--reflink=auto');
  await copy(layers, near ? '--link' : '--reflink=auto');
}

/** One that an engine does not know by now: it keeps images elsewhere, and is handed them. */
export async function addMissingImages(docker: Docker, images: readonly string[]): Promise<void> {
  if (images.length === 0) return;
  const known = (await docker.listImages()).flatMap(({ RepoTags: tags }) => tags ?? []);
  for (const image of images.filter((name) => !known.includes(name))) {
    await copyImage(image, docker);
  }
}

/** Made by whoever asks first, and kept while it is used; it appears when it is whole. */
async function plantOf(images: readonly string[], withEngine: WithEngine): Promise<string> {
  const parent = join(cacheDir(), 'test-engines');
  const planted = join(parent, await keyOf(images));
  await madeOnce(planted, { lock: 'emergent-test-engines', patienceMs: makeMs }, () =>
    make(parent, planted, images, withEngine),
  );
  const now = systemClock.now();
  await utimes(planted, now, now);
  return planted;
}

async function make(
  parent: string,
  planted: string,
  images: readonly string[],
  withEngine: WithEngine,
): Promise<void> {
  await mkdir(parent, { recursive: true });
  await removeUnused(parent);
  const draft = await mkdtemp(join(parent, 'draft-'));
  try {
    const data = join(draft, 'data');
    await withEngine(data, (docker) => addMissingImages(docker, images));
    const whole = join(draft, 'whole');
    await mkdir(whole);
    for (const name of [records, layers]) {
      await mkdir(join(data, name), { recursive: true });
      await rename(join(data, name), join(whole, name));
    }
    await rename(whole, planted);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Of images that have been replaced since, and what a killed process left. */
async function removeUnused(parent: string): Promise<void> {
  const oldest = systemClock.now().getTime() - unusedMs;
  for (const name of await readdir(parent)) {
    const path = join(parent, name);
    if ((await stat(path)).mtimeMs < oldest) await rm(path, { recursive: true, force: true });
  }
}

/** By the content of the images, and by the engine, which decides how they are kept. */
async function keyOf(images: readonly string[]): Promise<string> {
  const { docker, info } = await sharedEngine();
  const hash = createHash('sha256').update(`${info.ServerVersion}\n`);
  for (const image of images) {
    const { Id: id } = await docker.getImage(image).inspect();
    hash.update(`${image} ${id}\n`);
  }
  return hash.digest('hex').slice(0, 12);
}

async function copyImage(name: string, to: Docker): Promise<void> {
  const { docker } = await sharedEngine();
  const archive = await docker.getImage(name).get();
  const loading = await to.loadImage(archive);
  loading.resume();
  await once(loading, 'end');
}

export async function sharedEngine(): Promise<Engine> {
  const look = await findEngine();
  if (!look.engine) throw new Error(`there is no shared engine: ${look.reason}`);
  return look.engine;
}
