import { PGlite } from '@electric-sql/pglite';
import { execFile } from 'node:child_process';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { madeOnce } from './made-once.ts';

const run = promisify(execFile);
const modules = resolve(import.meta.dirname, '../../node_modules');

/**
 * Puts the files of an empty database into a data directory, as a server's first start does: making them takes
 * seconds of processor time, copying them next to none. The schema, and what is one installation's own, is left to
 * the server.
 */
export async function prepareDataDir(dataDir: string): Promise<void> {
  const files = await emptyDatabase();
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await run('cp', ['-a', files, join(dataDir, 'pglite')], { timeout: 60_000 });
}

/** Made once by the first who asks, and kept for as long as the version of PGlite is installed. */
async function emptyDatabase(): Promise<string> {
  const manifest = await readFile(join(modules, '@electric-sql/pglite/package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  const kept = join(modules, '.cache', `pglite-${version}`);
  await madeOnce(kept, { lock: 'emergent-test-database', patienceMs: 150_000 }, async () => {
    const unfinished = `${kept}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(join(modules, '.cache'), { recursive: true });
    await (await PGlite.create({ dataDir: unfinished })).close();
    await rename(unfinished, kept);
  });
  return kept;
}
