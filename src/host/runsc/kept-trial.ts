import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

import type { Engine } from '../docker/engine.ts';
import { cacheDir } from '../paths.ts';
import type { RegisteredRuntime } from './installed.ts';
import { runscVersion } from './installed.ts';
import { tryRuntime } from './try-runtime.ts';

/** A gVisor runtime of the engine that really ran a container. */
export type TriedRuntime = z.infer<typeof schema>;

const schema = z.object({
  name: z.string(),
  path: z.string().optional(),
  version: z.string().optional(),
  kernel: z.string(),
  platform: z.string().nullable(),
  network: z.string().nullable(),
});

/**
 * Tries the runtime, unless this very binary has already run on this engine and kernel: a trial takes most of
 * a second, and a start should not. Failures are never kept.
 */
export async function tryRuntimeOnce(
  engine: Engine,
  runtime: RegisteredRuntime,
  signal: AbortSignal,
): Promise<TriedRuntime> {
  const path = join(cacheDir(), 'probes', `runsc-${await keyOf(engine, runtime)}.json`);
  const kept = await readFile(path, 'utf8')
    .then((text) => schema.safeParse(JSON.parse(text)).data)
    .catch(() => undefined);
  if (kept) return kept;
  const trial = await tryRuntime(engine, runtime.name, signal);
  if (trial.kernel === release()) {
    throw new Error(`the runtime ${runtime.name} is not gVisor: it shows this host's kernel`);
  }
  const version = runtime.path === undefined ? undefined : await runscVersion(runtime.path, signal);
  const tried = schema.parse({ name: runtime.name, path: runtime.path, version, ...trial });
  await mkdir(join(cacheDir(), 'probes'), { recursive: true });
  await writeFile(`${path}.new`, JSON.stringify(tried));
  await rename(`${path}.new`, path);
  return tried;
}

async function keyOf(engine: Engine, runtime: RegisteredRuntime): Promise<string> {
  const binary =
    runtime.path === undefined ? undefined : await stat(runtime.path).catch(() => undefined);
  const facts = [
    engine.info.ID,
    engine.info.ServerVersion,
    engine.info.KernelVersion,
    runtime.name,
    runtime.path,
    runtime.arguments,
    binary?.size,
    binary?.mtimeMs,
  ];
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 16);
}
