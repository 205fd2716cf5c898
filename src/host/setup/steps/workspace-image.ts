import { reasonOf } from '../../../base/reason.ts';
import {
  buildFromPackages,
  buildFromParent,
  hasImage,
  pullParent,
  tagImage,
} from '../../image/build.ts';
import { readRecipe } from '../../image/recipe.ts';
import type { Recipe } from '../../image/recipe.ts';
import { findProgram } from '../../programs.ts';
import { aptInstall } from '../apt.ts';
import type { SetupContext } from '../context.ts';
import type { Note, SetupStep } from '../step.ts';
import { dockerName } from './docker.ts';

/** From a registry's parent image where one answers, otherwise from Debian packages alone. */
export function workspaceImage(context: SetupContext): SetupStep {
  return {
    name: 'Workspace image',
    why: 'It holds the tools every workspace starts with: bash, git, python3, nodejs, a compiler and more.',
    after: [dockerName],
    remedy: 'give the engine a registry, or this machine Debian’s mmdebstrap and package sources',
    async needed(signal) {
      const { tag } = await readRecipe();
      return (await hasImage(context.engine, tag, signal)) ? false : `${tag} is not built yet`;
    },
    async run(note, signal) {
      const recipe = await readRecipe();
      const imageId = await build(context, recipe, note, signal);
      await tagImage(context.engine, recipe, imageId);
    },
  };
}

async function build(
  context: SetupContext,
  recipe: Recipe,
  note: Note,
  signal: AbortSignal,
): Promise<string> {
  const ways = [
    { name: 'from the registry', build: () => fromRegistry(context, recipe, note, signal) },
    { name: 'from packages', build: () => fromPackages(context, recipe, note, signal) },
  ];
  const failures: string[] = [];
  for (const way of ways) {
    try {
      return await way.build();
    } catch (error) {
      signal.throwIfAborted();
      failures.push(`${way.name}: ${reasonOf(error)}`);
      note(reasonOf(error));
    }
  }
  throw new Error(failures.join('; '));
}

async function fromRegistry(
  { engine }: SetupContext,
  recipe: Recipe,
  note: Note,
  signal: AbortSignal,
): Promise<string> {
  note(`asking the registry for ${recipe.image.from}`);
  await pullParent(engine, recipe, signal);
  return buildFromParent(engine, recipe, note, signal);
}

async function fromPackages(
  { engine, root }: SetupContext,
  recipe: Recipe,
  note: Note,
  signal: AbortSignal,
): Promise<string> {
  if ((await findProgram('mmdebstrap')) === undefined) {
    note('installing mmdebstrap');
    await aptInstall(['mmdebstrap'], root, note, signal);
  }
  return buildFromPackages(engine, recipe, note, signal);
}
