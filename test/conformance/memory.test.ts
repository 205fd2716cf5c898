import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { MemoryProvider } from '../../src/providers/memory/provider.ts';
import { providerConformance } from './provider.ts';

let root: string | undefined;

providerConformance('memory', async () => {
  root = await mkdtemp(join(tmpdir(), 'emergent-memory-'));
  return { provider: new MemoryProvider({ root }), image: 'none' };
});

afterAll(async () => {
  if (root !== undefined) await rm(root, { recursive: true, force: true });
});
