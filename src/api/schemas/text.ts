import { z } from 'zod';

/**
 * Text that can travel everywhere a caller's text goes: no NUL (it ends strings in the kernel, and the database
 * refuses it) and no lone surrogates (they cannot be written as UTF-8).
 */
export function text(maxBytes: number) {
  const tooLong = stop(`must be at most ${String(maxBytes)} bytes long`);
  return z
    .string()
    .min(1, stop('must not be empty'))
    .max(maxBytes, tooLong)
    .refine((value) => Buffer.byteLength(value) <= maxBytes, tooLong)
    .refine((value) => !value.includes('\0'), stop('must not contain NUL bytes'))
    .refine((value) => value.isWellFormed(), stop('must be well-formed Unicode'));
}

/** One reason per value: what comes after a failed check is not looked at. */
function stop(error: string): { error: string; abort: true } {
  return { error, abort: true };
}

/** The longest path Linux takes. */
export const filePath = text(4096).describe(
  'Inside the workspace; a relative path starts at /workspace.',
);

export const id = z.uuid('must be a UUID').toLowerCase();

export const timestamp = z.iso.datetime();

/** A yes or no in a query. */
export const flag = z.enum(['true', 'false']).transform((value) => value === 'true');

/** A place in a log or an output, in a query or a header. */
export const position = z.coerce.number<string>().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Sent by a client that takes up a stream where it broke off; other headers pass unseen. */
export const resumeHeaders = z.looseObject({
  'last-event-id': position
    .optional()
    .describe('The id of the last event received; wins over the query.'),
});

/** For routes that need no body: none and {} are the same. */
export const noBody = z.strictObject({});

/** For routes without query parameters: a misspelt or unsupported one is refused, not ignored. */
export const noQuery = z.strictObject({});
