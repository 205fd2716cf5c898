import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { MemoryProvider } from '../../src/providers/memory/provider.ts';
import { fileToolSuite } from './files.suite.ts';

let root: string | undefined;

fileToolSuite('memory', async () => {
  root = await mkdtemp(join(tmpdir(), 'emergent-tools-'));
  return { provider: new MemoryProvider({ root, graceMs: 500 }), image: 'none' };
});

afterAll(async () => {
  if (root !== undefined) await rm(root, { recursive: true, force: true });
});
