import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { stalePidFiles } from '../../src/host/docker/pid-files.ts';

test('tells the pid files of programs that are gone, also when their number is in use again', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'emergent-pid-'));
  const file = async (name: string, content: string): Promise<string> => {
    await writeFile(join(directory, name), content);
    return join(directory, name);
  };
  try {
    const own = (await readFile('/proc/self/comm', 'utf8')).trim();
    const files = [
      { path: await file('alive', `${String(process.pid)}\n`), program: own },
      { path: await file('reused', String(process.pid)), program: 'dockerd' },
      { path: await file('gone', '4194305'), program: 'dockerd' },
      { path: await file('empty', ''), program: 'dockerd' },
      { path: join(directory, 'absent'), program: 'dockerd' },
    ];
    expect(await stalePidFiles(files)).toEqual([
      join(directory, 'reused'),
      join(directory, 'gone'),
    ]);
  } finally {
    await rm(directory, { recursive: true });
  }
});
