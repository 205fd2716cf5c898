import type { FastifyBaseLogger, FastifyInstance, FastifyRequest, RawServerDefault } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Caller } from '../domain/caller.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { EmergentError } from '../domain/errors.ts';
import type { Engine } from '../engine/engine.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose token the request carries; undefined until it is checked, and on public routes. */
    caller: Caller | undefined;
    /** The code of the error that was answered, for the request log. */
    failure: ErrorCode | undefined;
    /** The number of the server of ours that it was passed on to, for the request log. */
    passedTo: number | undefined;
  }
  interface FastifyContextConfig {
    /** Answers without a token. */
    public?: boolean;
    /** Becomes a WebSocket, whose clients may have no way to set an Authorization header. */
    upgrades?: boolean;
  }
}

/** What the routes work with. */
export interface ApiContext {
  readonly engine: Engine;
  readonly log: Log;
  readonly clock: Clock;
  readonly limits: ApiLimits;
  /** Of this server. */
  readonly version: string;
  /** Aborts when the server begins to close: streams without an end of their own end then. */
  readonly closing: AbortSignal;
  /** Seals what clients hold of their sessions. */
  readonly sessionKey: Uint8Array;
}

export interface ApiLimits {
  /** A JSON body. */
  readonly jsonBytes: number;
  /** A file through PUT. */
  readonly fileBytes: number;
  /** A client that sends headers, or a whole JSON body, slower than this is let go. */
  readonly requestMs: number;
  /** A transfer in which nothing moves for this long is ended. */
  readonly stallMs: number;
  /** Between two signs of life on a quiet event stream. */
  readonly heartbeatMs: number;
  /** Between two pings on a terminal; a client that has not answered one by the next is gone. */
  readonly pingMs: number;
  /** Each part of a scrape that has to be asked for; what takes longer is left out. */
  readonly scrapeMs: number;
}

export const defaultLimits: ApiLimits = {
  jsonBytes: 2 ** 20,
  fileBytes: 10 * 2 ** 30,
  requestMs: 30_000,
  stallMs: 120_000,
  heartbeatMs: 15_000,
  pingMs: 30_000,
  // Scrapers give up after ten seconds.
  scrapeMs: 7_000,
};

/** A fastify instance whose routes take their types from zod schemas. */
export type Api = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** The caller of a route that needs one. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller) return request.caller;
  throw new EmergentError('unauthenticated', 'no bearer token was sent');
}
