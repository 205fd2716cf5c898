import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** Debian keeps daemons and mkfs in sbin, which is not on an ordinary user's PATH. */
const systemPaths = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** The full path of a program on the PATH or in the system's directories; undefined when there is none. */
export async function findProgram(
  name: string,
  path: string = process.env['PATH'] ?? '',
): Promise<string | undefined> {
  const directories = [...path.split(delimiter).filter((entry) => entry !== ''), ...systemPaths];
  for (const directory of directories) {
    const candidate = join(directory, name);
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
}

export async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
