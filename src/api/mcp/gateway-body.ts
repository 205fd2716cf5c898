import type { FastifyRequest } from 'fastify';
import type { ApiContext } from '../context.ts';
import { readBody } from '../http/body-reader.ts';

/** As much as the SDK takes by itself. */
const maxBytes = 4 * 2 ** 20;

/** The bytes of a request to a hosted server, whatever they are. */
export async function bodyOf(
  { raw }: FastifyRequest,
  { limits, clock }: ApiContext,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const bounds = { maxBytes, stallMs: limits.requestMs, totalMs: limits.requestMs };
  for await (const chunk of readBody(raw, bounds, clock)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Undefined: they are no JSON. */
export function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown;
  } catch {
    return undefined;
  }
}
