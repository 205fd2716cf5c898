import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

type Env = Readonly<Record<string, string | undefined>>;

/** The checkout this file belongs to. */
export const projectRoot = resolve(import.meta.dirname, '../..');

/** What root installs for every user of the machine; runtimes that the engine starts must not live in a home. */
export const systemDir = '/usr/local/lib/emergent';

/** Downloads and builds that can be made again at any time. */
export function cacheDir(env: Env = process.env): string {
  return join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'emergent');
}

export function dataDir(env: Env = process.env): string {
  return env['EMERGENT_DATA_DIR'] ?? join(homedir(), '.emergent');
}
