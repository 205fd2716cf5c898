import { join } from 'node:path';
import { Client } from 'pg';
import { z } from 'zod';

import { reasonOf } from '../../base/reason.ts';
import { dataDir } from '../paths.ts';
import type { Finding } from './check.ts';

const connectMs = 3_000;
const rowsSchema = z.array(z.object({ server_version: z.string() }));

export async function lookAtDatabase(url = process.env['DATABASE_URL']): Promise<Finding> {
  if (url === undefined || url === '') {
    const reason = `PGlite, embedded, in ${join(dataDir(), 'pglite')}`;
    return { state: 'ok', reason, details: { kind: 'pglite' } };
  }
  const where = withoutSecrets(url);
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: connectMs,
    query_timeout: connectMs,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query('show server_version');
    const version = rowsSchema.parse(rows)[0]?.server_version ?? 'unknown';
    const details = { kind: 'postgresql', version, where };
    return { state: 'ok', reason: `PostgreSQL ${version} at ${where}`, details };
  } catch (error) {
    return {
      state: 'broken',
      reason: `PostgreSQL at ${where} does not answer: ${reasonOf(error)}`,
      remedy: 'check DATABASE_URL and the server, or unset it to use the embedded database',
      details: { kind: 'postgresql', where },
    };
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Host, port and database only. */
export function withoutSecrets(url: string): string {
  if (!URL.canParse(url)) return 'DATABASE_URL';
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
