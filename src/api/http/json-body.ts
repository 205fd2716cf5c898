import type { FastifyInstance, FastifyRequest } from 'fastify';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { ApiContext } from '../context.ts';
import { readBody } from './body-reader.ts';

/** JSON is the only body that routes take, unless they say otherwise. */
export function takeJsonBodies(app: FastifyInstance, { clock, limits }: ApiContext): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', async (request: FastifyRequest) => {
    const chunks: Buffer[] = [];
    const bounds = {
      maxBytes: limits.jsonBytes,
      stallMs: limits.requestMs,
      totalMs: limits.requestMs,
    };
    for await (const chunk of readBody(request.raw, bounds, clock)) chunks.push(chunk);
    return parseJson(Buffer.concat(chunks));
  });
  // No body at all means the same as an empty object: the schema says what is missing from it.
  app.addHook('preValidation', async (request) => {
    if (request.body === undefined) request.body = {};
  });
}

function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return JSON.parse(text, mayNamePrototype(text) ? refusePrototype : undefined) as unknown;
  } catch (error) {
    if (error instanceof EmergentError) throw error;
    throw new EmergentError('malformed_json', `the body is not JSON: ${reasonOf(error)}`);
  }
}

/** Looking at every member costs more than parsing; few bodies need it. The name may be written in escapes. */
function mayNamePrototype(text: string): boolean {
  return text.includes('__proto__') || text.includes('\\u');
}

/** A `__proto__` member would silently vanish, or worse, in every copy of the object. */
function refusePrototype(key: string, value: unknown): unknown {
  if (key !== '__proto__') return value;
  throw new EmergentError('unknown_field', '__proto__: there is no such field');
}
