import type { Engine } from '../docker/engine.ts';
import { findAgent } from '../agent/build.ts';
import { findGo, requiredGo } from '../go/find.ts';
import { hasImage } from '../image/build.ts';
import { imageRepository, readRecipe } from '../image/recipe.ts';
import { atLeast } from '../version.ts';
import type { Finding } from './check.ts';

const byStart = '`npm start` builds it';

/** What `npm start` makes by itself. */
export async function lookAtImage(
  engine: Engine | undefined,
  signal: AbortSignal,
): Promise<Finding> {
  if (!engine) {
    return { state: 'missing', reason: 'needs the Docker engine', remedy: 'see Docker engine' };
  }
  const { tag } = await readRecipe();
  const details = { image: tag };
  if (await hasImage(engine, tag, signal)) return { state: 'ok', reason: tag, details };
  if (await hasImage(engine, `${imageRepository}:latest`, signal)) {
    const reason = `${imageRepository}:latest is of another version than ${tag}`;
    return { state: 'reduced', reason, remedy: byStart, details };
  }
  return { state: 'missing', reason: `the engine has no image ${tag}`, remedy: byStart, details };
}

export async function lookAtAgent(signal: AbortSignal): Promise<Finding> {
  const minimum = await requiredGo();
  const go = await findGo(minimum, signal);
  if (!go) {
    const reason = `no Go toolchain from ${minimum} to build it with`;
    return { state: 'missing', reason, remedy: '`npm start` installs Go and builds it' };
  }
  const paths = await findAgent(go);
  const details = { go: go.version, ...paths };
  return paths
    ? { state: 'ok', reason: `built with Go ${go.version}`, details }
    : { state: 'missing', reason: 'not built from these sources', remedy: byStart, details };
}

export async function lookAtNode(version = process.versions.node): Promise<Finding> {
  const details = { version, path: process.execPath };
  return atLeast(version, '24')
    ? { state: 'ok', reason: `version ${version}`, details }
    : {
        state: 'broken',
        reason: `version ${version}; the server needs 24`,
        remedy: 'start it with ./emergent, which brings its own',
        details,
      };
}
