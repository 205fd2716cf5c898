import { readdir, stat } from 'node:fs/promises';
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '../../base/system-code.ts';
import type { FileContent } from '../../domain/provider.ts';
import { realHostPath, sandboxPath } from './paths.ts';

const slash = Buffer.from('/');
const nul = Buffer.from('\0');

/** As `FileContent.directory` says. */
export async function listDirectory(directory: string, path: string): Promise<FileContent> {
  const real = await realHostPath(directory, path);
  const found = await readdir(real, { withFileTypes: true, encoding: 'buffer' });
  const names: Buffer[] = [];
  for (const entry of found.sort((a, b) => Buffer.compare(a.name, b.name))) {
    const isDirectory = entry.isDirectory() || (await leadsToDirectory(real, entry));
    names.push(entry.name, ...(isDirectory ? [slash] : []), nul);
  }
  const content = Buffer.concat(names);
  return {
    path: sandboxPath(path),
    size: content.length,
    version: null,
    directory: true,
    content: (async function* () {
      yield content;
    })(),
  };
}

async function leadsToDirectory(parent: string, entry: Dirent<Buffer>): Promise<boolean> {
  if (!entry.isSymbolicLink()) return false;
  try {
    const target = Buffer.concat([Buffer.from(join(parent, '/')), entry.name]);
    return (await stat(target)).isDirectory();
  } catch (error) {
    // A link that leads nowhere, or to where nobody may look, is listed as what it is.
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(systemCode(error))) return false;
    throw error;
  }
}
