import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';

import type { GoToolchain } from '../go/find.ts';
import { cacheDir, projectRoot } from '../paths.ts';
import { isExecutable } from '../programs.ts';
import { runOk } from '../run.ts';

export interface AgentPaths {
  readonly amd64: string;
  readonly arm64: string;
}

const guestDir = join(projectRoot, 'guest');

/** A hash over the agent's sources, without its tests, and the compiler: the same key, the same bytes. */
export async function agentKey(goVersion: string, directory = guestDir): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && isSource(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const hash = createHash('sha256').update(`go ${goVersion}\n`);
  for (const file of files) {
    const content = await readFile(file);
    hash.update(`${relative(directory, file)} ${String(content.length)}\n`).update(content);
  }
  return hash.digest('hex').slice(0, 12);
}

function isSource(name: string): boolean {
  if (name.endsWith('_test.go')) return false;
  return name.endsWith('.go') || ['go.mod', 'go.sum', 'build.sh'].includes(name);
}

export function agentPaths(key: string): AgentPaths {
  const directory = join(cacheDir(), 'agents', key);
  return {
    amd64: join(directory, 'agent-linux-amd64'),
    arm64: join(directory, 'agent-linux-arm64'),
  };
}

/** The agent built from these very sources by this Go; undefined when it is not built yet. */
export async function findAgent(go: GoToolchain): Promise<AgentPaths | undefined> {
  const paths = agentPaths(await agentKey(go.version));
  const built = (await isExecutable(paths.amd64)) && (await isExecutable(paths.arm64));
  return built ? paths : undefined;
}

/** Builds both architectures; they appear in the cache together, when both are whole. */
export async function buildAgent(
  go: GoToolchain,
  note: (line: string) => void,
  signal: AbortSignal,
): Promise<AgentPaths> {
  const key = await agentKey(go.version);
  const parent = join(cacheDir(), 'agents');
  await mkdir(parent, { recursive: true });
  const draft = await mkdtemp(join(parent, '.draft-'));
  try {
    for (const arch of ['amd64', 'arm64']) {
      note(`compiling for ${arch}`);
      await runOk(['sh', join(guestDir, 'build.sh'), draft, arch], {
        timeoutMs: 10 * 60_000,
        env: { GO: go.path, GOTOOLCHAIN: 'local', VERSION: key },
        onLine: note,
        signal,
      });
    }
    const target = join(parent, key);
    await rm(target, { recursive: true, force: true });
    await rename(draft, target);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return agentPaths(key);
}
