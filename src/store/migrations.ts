import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

/** One step of the schema. Once released it never changes: databases remember its checksum. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

export function migration(version: number, name: string, sql: string): Migration {
  return { version, name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
}

const directory = fileURLToPath(new URL('./migrations/', import.meta.url));

/** `migrations/001-name.sql` and on, numbered without a gap. */
export async function readMigrations(): Promise<readonly Migration[]> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(
    files.map(async (file, index) => {
      const match = /^(\d{3})-([a-z0-9-]+)\.sql$/.exec(file);
      const name = match?.[2];
      if (name === undefined || Number(match?.[1]) !== index + 1) {
        throw new Error(
          `migration ${String(index + 1)}: ${file} is not named 001-name.sql in sequence`,
        );
      }
      return migration(index + 1, name, await readFile(join(directory, file), 'utf8'));
    }),
  );
}
