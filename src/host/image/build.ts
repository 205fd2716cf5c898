import { spawn } from 'node:child_process';
import { chmod, mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';

import { withDeadline } from '../../base/deadline.ts';
import type { Engine } from '../docker/engine.ts';
import { followProgress } from '../docker/progress.ts';
import { tarOf } from '../../base/tar.ts';
import { childExit, endGroup, lastLines, run } from '../run.ts';
import { aptSources, aptTransportOptions, sourcesList } from './apt-sources.ts';
import { dockerfile, imageChanges, imageRepository } from './recipe.ts';
import type { Recipe } from './recipe.ts';

const registryMs = 20_000;
const buildMs = 20 * 60_000;

type Note = (line: string) => void;

/** Whether the engine has this image, under this tag. */
export async function hasImage(
  engine: Engine,
  tag: string,
  signal?: AbortSignal,
): Promise<boolean> {
  return withDeadline(
    `looking for the image ${tag}`,
    5_000,
    async () => {
      try {
        await engine.docker.getImage(tag).inspect();
        return true;
      } catch (error) {
        if ((error as { statusCode?: number }).statusCode === 404) return false;
        throw error;
      }
    },
    signal,
  );
}

/** Brings the recipe's parent image onto the engine, unless no registry gives it in time. */
export async function pullParent(
  engine: Engine,
  recipe: Recipe,
  signal: AbortSignal,
): Promise<void> {
  if (await hasImage(engine, recipe.image.from, signal)) return;
  await withDeadline(
    `pulling ${recipe.image.from}`,
    registryMs,
    async (abortSignal) => {
      const stream = await engine.docker.pull(recipe.image.from, { abortSignal });
      await followProgress(stream);
    },
    signal,
  );
}

/** Builds from the recipe's parent image with a Dockerfile made from the recipe. Returns the image's id. */
export async function buildFromParent(
  engine: Engine,
  recipe: Recipe,
  note: Note,
  signal: AbortSignal,
): Promise<string> {
  const copied = ['apt.conf', 'dpkg.conf', 'finish.sh'];
  const files = await Promise.all(
    copied.map(async (name) => ({
      name,
      mode: 0o644,
      content: await readFile(join(recipe.directory, name)),
    })),
  );
  const content = Buffer.from(dockerfile(recipe));
  const context = await tarOf([{ name: 'Dockerfile', mode: 0o644, content }, ...files]);
  return withDeadline(
    'building the workspace image',
    buildMs,
    async (abortSignal) => {
      const stream = await engine.docker.buildImage(Readable.from([context]), {
        forcerm: true,
        rm: true,
        abortSignal,
      });
      const { imageId } = await followProgress(stream, note);
      if (imageId === undefined) throw new Error('the engine did not name the image it built');
      return imageId;
    },
    signal,
  );
}

/** Builds from Debian packages alone, with no registry, and imports the result. Returns the image's id. */
export async function buildFromPackages(
  engine: Engine,
  recipe: Recipe,
  note: Note,
  signal: AbortSignal,
): Promise<string> {
  const sources = await aptSources(signal);
  if (sources.length === 0) throw new Error('apt has no Debian or Ubuntu repository configured');
  const options = await aptTransportOptions(signal);
  // Large, and downloaded by apt's own unprivileged user.
  const directory = await mkdtemp('/var/tmp/emergent-image-');
  await chmod(directory, 0o755);
  const child = spawn('mmdebstrap', mmdebstrapArguments(recipe, options), {
    cwd: recipe.directory,
    env: { ...process.env, TMPDIR: directory },
    detached: true,
    stdio: 'pipe',
  });
  const exited = childExit(child);
  child.stdin.on('error', () => undefined).end(sourcesList(sources));
  const said: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    said.push(line);
    note(line.replace(/^I: /, ''));
  });
  try {
    const imageId = await importStream(engine, recipe, child.stdout, signal);
    const exit = await exited;
    if (exit.code === 0) return imageId;
    // A failed build ends its stream early, which the engine takes for a whole (smaller) image.
    await engine.docker.getImage(imageId).remove({ force: true });
    throw new Error(`mmdebstrap: ${exit.error?.message ?? lastLines(said.join('\n'))}`);
  } finally {
    await endGroup(child, exited);
    // Never into a mount that a killed build left under it.
    await run(['rm', '-rf', '--one-file-system', directory], { timeoutMs: 60_000 });
  }
}

function mmdebstrapArguments(recipe: Recipe, transportOptions: readonly string[]): string[] {
  return [
    '--variant=minbase',
    '--format=tar',
    '--aptopt=apt.conf',
    ...transportOptions.map((option) => `--aptopt=${option}`),
    '--dpkgopt=dpkg.conf',
    `--include=${recipe.packages.join(',')}`,
    '--customize-hook=copy-in finish.sh /tmp',
    '--customize-hook=chroot "$1" sh /tmp/finish.sh',
    '', // suite: as the sources say
    '-', // target: standard output
    '-', // sources: standard input
  ];
}

async function importStream(
  engine: Engine,
  recipe: Recipe,
  archive: Readable,
  signal: AbortSignal,
): Promise<string> {
  return withDeadline(
    'building the workspace image',
    buildMs,
    async (abortSignal) => {
      const changes = imageChanges(recipe);
      const stream = await engine.docker.importImage(archive, { changes, abortSignal });
      return (await followProgress(stream)).lastStatus;
    },
    signal,
  );
}

/** The tags appear only when the image is whole. */
export async function tagImage(engine: Engine, recipe: Recipe, imageId: string): Promise<void> {
  const image = engine.docker.getImage(imageId);
  await withDeadline('tagging the workspace image', 10_000, async (abortSignal) => {
    await image.tag({ repo: imageRepository, tag: recipe.hash, abortSignal });
    await image.tag({ repo: imageRepository, tag: 'latest', abortSignal });
  });
}
