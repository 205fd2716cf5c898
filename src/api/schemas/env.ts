import { z } from 'zod';
import { text } from './text.ts';

const maxNames = 256;
/** What Linux takes as one argument or one variable; together they stay far below its limit for all. */
const maxBytes = 128 * 1024;
const reservedPrefix = 'EMERGENT_';

const name = text(255)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a name of an environment variable')
  .refine((value) => !value.startsWith(reservedPrefix), `must not start with ${reservedPrefix}`);

const value = z
  .string()
  .refine((content) => !content.includes('\0'), 'must not contain NUL bytes')
  .refine((content) => content.isWellFormed(), 'must be well-formed Unicode');

export const env = z
  .record(name, value)
  .refine((all) => Object.keys(all).length <= maxNames, {
    error: `must hold at most ${String(maxNames)} variables`,
  })
  .refine((all) => sizeOf(all) < maxBytes, {
    error: `must be smaller than ${String(maxBytes)} bytes, names and values together`,
  })
  .describe(`Environment variables. Names starting with ${reservedPrefix} are reserved.`);

function sizeOf(all: Readonly<Record<string, string>>): number {
  let size = 0;
  for (const [key, content] of Object.entries(all)) {
    size += Buffer.byteLength(key) + Buffer.byteLength(content) + 2;
  }
  return size;
}
