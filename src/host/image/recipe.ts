import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

import { workspaceImageRepository } from '../../domain/image.ts';
import { projectRoot } from '../paths.ts';

/** The base workspace image as data (images/base): both ways of building it read nothing else. */
export interface Recipe {
  readonly directory: string;
  readonly packages: readonly string[];
  readonly image: z.infer<typeof imageSchema>;
  /** Changes with every word of the recipe. */
  readonly hash: string;
  readonly tag: string;
}

const imageSchema = z.strictObject({
  from: z.string(),
  env: z.record(z.string(), z.string()),
  workdir: z.string(),
  cmd: z.array(z.string()),
});

export const imageRepository = workspaceImageRepository;
const recipeFiles = ['packages', 'apt.conf', 'dpkg.conf', 'finish.sh', 'image.json'] as const;

export async function readRecipe(
  directory: string = join(projectRoot, 'images/base'),
): Promise<Recipe> {
  const texts = await Promise.all(
    recipeFiles.map((name) => readFile(join(directory, name), 'utf8')),
  );
  const hash = recipeHash(new Map(recipeFiles.map((name, index) => [name, texts[index] ?? ''])));
  const [packages = '', , , , image = ''] = texts;
  return {
    directory,
    packages: packageNames(packages),
    image: imageSchema.parse(JSON.parse(image)),
    hash,
    tag: `${imageRepository}:${hash}`,
  };
}

/** The first 12 hex digits of a hash over names and contents, in the order of the names. */
export function recipeHash(files: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256');
  for (const name of [...files.keys()].sort()) {
    const text = files.get(name) ?? '';
    hash.update(`${name} ${String(Buffer.byteLength(text))}\n${text}`);
  }
  return hash.digest('hex').slice(0, 12);
}

export function packageNames(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '');
}

/** What `docker import` and the Dockerfile both say about the image. */
export function imageChanges(recipe: Recipe): string[] {
  const { env, workdir, cmd } = recipe.image;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return [
    `ENV ${variables.join(' ')}`,
    `WORKDIR ${workdir}`,
    `CMD ${JSON.stringify(cmd)}`,
    `LABEL dev.emergent.recipe=${recipe.hash}`,
  ];
}

export function dockerfile(recipe: Recipe): string {
  return [
    `FROM ${recipe.image.from}`,
    'COPY apt.conf /etc/apt/apt.conf.d/99emergent',
    'COPY dpkg.conf /etc/dpkg/dpkg.cfg.d/99emergent',
    'COPY finish.sh /tmp/finish.sh',
    'RUN apt-get update' +
      ` && DEBIAN_FRONTEND=noninteractive apt-get install -y ${recipe.packages.join(' ')}` +
      ' && sh /tmp/finish.sh',
    ...imageChanges(recipe),
    '',
  ].join('\n');
}
