import { z } from 'zod';
import { filePath } from './text.ts';

export const fileQuery = z.strictObject({ path: filePath });

export const fileInfo = z.object({ path: z.string(), size: z.int() }).meta({ id: 'FileInfo' });

/** Raw bytes: described here, streamed past validation and serialization. */
export const rawBytes = z.unknown().meta({ type: 'string', format: 'binary' });
