import { hostname } from 'node:os';
import { localhostAllowedHostnames, validateOriginHeader } from '@modelcontextprotocol/server';
import type { FastifyRequest } from 'fastify';
import { EmergentError } from '../../domain/errors.ts';

/**
 * Refuses what a page of somebody else's site sends from a browser. The Host header proves nothing here: a page whose
 * name was made to point at this server sends its own name in both. So only names and addresses count that this
 * server has by itself.
 */
export function refuseForeignOrigin({ headers, raw }: FastifyRequest): void {
  const own = [...localhostAllowedHostnames(), hostname().toLowerCase(), ...addressOf(raw.socket)];
  const verdict = validateOriginHeader(headers.origin, own);
  if (verdict.ok) return;
  throw new EmergentError(
    'forbidden',
    `requests from the origin ${headers.origin ?? ''} are refused`,
    {
      hint: 'Call the server by its address, or from a program that sends no Origin header.',
    },
  );
}

function addressOf({ localAddress }: { readonly localAddress?: string | undefined }): string[] {
  if (localAddress === undefined) return [];
  const plain = localAddress.replace(/^::ffff:/, '');
  return [plain.includes(':') ? `[${plain}]` : plain];
}
