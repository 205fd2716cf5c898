import type { FastifyRequest } from 'fastify';
import { EmergentError } from '../../domain/errors.ts';

/** Refuses what the HTTP parser and the router let through but no route can read without guessing. */
export function refuseMalformed(request: FastifyRequest): void {
  const { headers, httpVersionMinor } = request.raw;
  if (headers.host === undefined && httpVersionMinor === 1) {
    throw new EmergentError('malformed_request', 'the Host header is missing');
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    throw new EmergentError('malformed_request', 'only "Expect: 100-continue" is understood');
  }
  const query = request.url.split('?').slice(1).join('?');
  if (!canDecode(query)) {
    throw new EmergentError(
      'malformed_request',
      'the query string holds a percent-encoding that cannot be decoded',
    );
  }
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
