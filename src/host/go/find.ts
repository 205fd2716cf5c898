import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { cacheDir, projectRoot } from '../paths.ts';
import { findProgram, isExecutable } from '../programs.ts';
import { run } from '../run.ts';
import { atLeast } from '../version.ts';

export interface GoToolchain {
  readonly path: string;
  /** Such as "1.26.7". */
  readonly version: string;
}

/** The version that is installed when none is found. */
export const pinnedGo = '1.26.7';

export function cachedGoRoot(): string {
  return join(cacheDir(), `go-${pinnedGo}`);
}

/** The oldest Go that compiles the guest agent. */
export async function requiredGo(): Promise<string> {
  return goDirective(await readFile(join(projectRoot, 'guest/go.mod'), 'utf8'));
}

export function goDirective(goMod: string): string {
  const version = /^go (\d\S*)/m.exec(goMod)?.[1];
  if (version === undefined) throw new Error('guest/go.mod names no Go version');
  return version;
}

/** $GO, then the PATH, then our own copy: the first that is new enough. */
export async function findGo(
  minimum: string,
  signal?: AbortSignal,
): Promise<GoToolchain | undefined> {
  const named = process.env['GO'];
  const candidates = [
    ...(named === undefined || named === '' ? [] : [await findProgram(named, '')]),
    await findProgram('go'),
    join(cachedGoRoot(), 'bin/go'),
    '/usr/local/go/bin/go',
  ];
  for (const path of candidates) {
    if (path === undefined || !(await isExecutable(path))) continue;
    const version = await goVersion(path, signal);
    if (version !== undefined && atLeast(version, minimum)) return { path, version };
  }
  return undefined;
}

/** GOTOOLCHAIN=local: what this binary is, not what it would download. */
export async function goVersion(path: string, signal?: AbortSignal): Promise<string | undefined> {
  const env = { GOTOOLCHAIN: 'local' };
  const result = await run([path, 'version'], { timeoutMs: 10_000, signal, env });
  return result.ok ? parseGoVersion(result.stdout) : undefined;
}

export function parseGoVersion(text: string): string | undefined {
  return /\bgo(\d+\.\d+(?:\.\d+)?)/.exec(text)?.[1];
}
