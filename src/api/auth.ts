import type { FastifyRequest } from 'fastify';
import { EmergentError } from '../domain/errors.ts';
import type { Engine } from '../engine/engine.ts';
import { bearerProtocol } from './terminal/upgrade.ts';

/** Turns the request's bearer token into its caller. Runs before any of the body is read. */
export async function authenticate(request: FastifyRequest, engine: Engine): Promise<void> {
  if (request.routeOptions.config.public === true) return;
  const token = request.routeOptions.config.upgrades === true ? bearerProtocol(request) : undefined;
  request.caller = await engine.tokens.authenticate(
    token ?? bearerToken(request.headers.authorization),
  );
}

function bearerToken(header: string | undefined): string {
  if (header === undefined) throw new EmergentError('unauthenticated', 'no bearer token was sent');
  const token = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(header)?.[1];
  if (token !== undefined) return token;
  throw new EmergentError(
    'unauthenticated',
    'the Authorization header does not hold a bearer token',
  );
}
