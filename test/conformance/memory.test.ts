import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { SandboxRef } from '../../src/domain/provider.ts';
import { MemoryProvider } from '../../src/providers/memory/provider.ts';
import { providerConformance } from './provider.ts';

let root: string | undefined;

providerConformance('memory', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'emergent-memory-'));
  root = directory;
  const home = ({ sandboxName }: SandboxRef): string => join(directory, sandboxName);
  return {
    provider: new MemoryProvider({ root: directory, graceMs: 500 }),
    image: 'none',
    hasVolumes: false,
    parts: (ref) => [`directory ${home(ref)}`],
    loseFiles: (ref) => rm(home(ref), { recursive: true }),
  };
});

afterAll(async () => {
  if (root !== undefined) await rm(root, { recursive: true, force: true });
});
