import { EmergentError } from '../../domain/errors.ts';

/**
 * A place in the list, opaque to callers: the last row's time and id. The column holds milliseconds, as a
 * Date does, so the place is exact.
 */
export interface Place {
  readonly createdAt: Date;
  readonly id: string;
}

export function encodeCursor({ createdAt, id }: Place): string {
  return Buffer.from(`${createdAt.toISOString()} ${id}`).toString('base64url');
}

const shape =
  /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;

export function decodeCursor(cursor: string): Place {
  const match = shape.exec(Buffer.from(cursor, 'base64url').toString());
  const [, time = '', id = ''] = match ?? [];
  const place = { createdAt: new Date(time), id };
  // Base64 and dates have several spellings of one value; only the one that was handed out is taken back.
  if (!match || Number.isNaN(place.createdAt.getTime()) || encodeCursor(place) !== cursor) {
    throw new EmergentError('invalid_value', 'cursor: not one that this server handed out', {
      hint: 'Pass next_cursor of the previous page unchanged, or leave the cursor out to start again.',
    });
  }
  return place;
}
