import type { FastifyHttpOptions } from 'fastify';
import type { Server } from 'node:http';
import type { ApiLimits } from '../context.ts';
import { isTerminalUpgrade } from '../terminal/upgrade.ts';
import { requestIdOf } from './request-id.ts';

/** Longest request line and headers together: a path of 4,096 bytes, percent-encoded, and room for the rest. */
const maxHeaderBytes = 32 * 1024;
/** A client behind a dead network is noticed within minutes, and the command it waits for ended. */
const tcpKeepAliveMs = 60_000;
/** How often Node looks for connections whose headers are late. */
const checkEveryMs = 5_000;

/** How the server reads HTTP, before any of our hooks see a request. */
export function serverOptions(limits: ApiLimits): FastifyHttpOptions<Server> {
  return {
    logger: false,
    genReqId: requestIdOf,
    // The OpenAPI document lists every route there is, so none is added on the side.
    exposeHeadRoutes: false,
    // The answer while closing is ours, in the shape of every other error.
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: maxHeaderBytes },
    http: {
      headersTimeout: limits.requestMs,
      // Bodies are bounded where they are read: an upload may take hours, a JSON body may not.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(limits.requestMs, checkEveryMs),
      maxHeaderSize: maxHeaderBytes,
      // Node would refuse it without a body; a hook does it in JSON.
      requireHostHeader: false,
      // Anybody else's wish for another protocol is ignored, as HTTP allows.
      shouldUpgradeCallback: isTerminalUpgrade,
      keepAlive: true,
      keepAliveInitialDelay: tcpKeepAliveMs,
    },
  };
}
