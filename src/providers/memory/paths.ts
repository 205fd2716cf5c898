import { realpath } from 'node:fs/promises';
import { join, posix, relative, sep } from 'node:path';
import { EmergentError } from '../../domain/errors.ts';
import { toFileError } from './file-errors.ts';

const workspace = '/workspace';
/** What the kernel takes. Following links one by one would never meet its limit. */
const maxBytes = 4095;

/** The absolute, normalised form of a path as seen in a sandbox; relative ones start at /workspace. */
export function sandboxPath(path: string): string {
  if (path === '' || path.includes('\0')) {
    throw new EmergentError('invalid_value', 'path: empty, or contains a NUL byte');
  }
  const absolute = posix.resolve(workspace, path);
  if (Buffer.byteLength(absolute) > maxBytes) {
    throw new EmergentError('invalid_value', `path: longer than ${String(maxBytes)} bytes`);
  }
  return absolute;
}

/** Where a sandbox's path lies on the host; only what is under /workspace lies anywhere. */
export function hostPath(directory: string, path: string): string {
  const inside = posix.relative(workspace, sandboxPath(path));
  if (inside === '..' || inside.startsWith('../')) throw outside(path);
  return join(directory, inside);
}

/**
 * The same with every symbolic link followed, so that a link cannot lead out of the sandbox's directory. The
 * path must exist.
 */
export async function realHostPath(directory: string, path: string): Promise<string> {
  try {
    const [root, real] = await Promise.all([
      realpath(directory),
      realpath(hostPath(directory, path)),
    ]);
    const inside = relative(root, real);
    if (inside === '..' || inside.startsWith(`..${sep}`)) throw outside(path);
    return real;
  } catch (error) {
    throw toFileError(error, path);
  }
}

/** The nearest directory above a path that exists, with the same guard. */
export async function realHostAncestor(directory: string, path: string): Promise<string> {
  const parent = posix.dirname(sandboxPath(path));
  try {
    return await realHostPath(directory, parent);
  } catch (error) {
    const missing = error instanceof EmergentError && error.code === 'file_not_found';
    if (!missing || parent === workspace) throw error;
    return realHostAncestor(directory, parent);
  }
}

function outside(path: string): EmergentError {
  return new EmergentError('permission_denied', `${path} is outside ${workspace}`);
}
