import { ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { EmergentError } from '../../domain/errors.ts';

const terminalPath = /^\/api\/v1\/agent\/workspaces\/[^/?]+\/terminal\/?(?:\?|$)/;
/** One message from a client; more than anybody types or pastes at once. */
export const maxMessageBytes = 64 * 1024;
/** What a browser offers its token with, beside a protocol: a server has to choose one that it was offered. */
const tokenPrefix = 'bearer.';

const heads = new WeakMap<IncomingMessage, Buffer>();
const sockets = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  maxPayload: maxMessageBytes,
  perMessageDeflate: false,
  handleProtocols: (offered) =>
    [...offered].find((name) => !name.startsWith(tokenPrefix)) ?? [...offered][0] ?? false,
});

export function isTerminalUpgrade({ method, headers, url }: IncomingMessage): boolean {
  return (
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    terminalPath.test(url ?? '')
  );
}

/**
 * A request for an upgrade takes the way of every other request, through the same hooks to a route: what refuses
 * it answers as always, in HTTP, and its connection ends; the route itself takes the connection over.
 */
export function routeUpgrades(app: FastifyInstance): void {
  app.server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const socket = stream as Socket;
    // A client that resets the connection is noticed by its close.
    socket.on('error', () => undefined);
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => {
      socket.destroySoon();
    });
    heads.set(request, head);
    app.routing(request, response);
  });
}

/** Refuses, before anything is done for it, what could not become a WebSocket. */
export function requireHandshake({ raw }: FastifyRequest): void {
  const { 'sec-websocket-key': key, 'sec-websocket-version': version } = raw.headers;
  if (!heads.has(raw)) {
    throw new EmergentError('malformed_request', 'this route answers WebSocket upgrades only');
  }
  if (version !== '13' || !/^[+/0-9A-Za-z]{22}==$/.test(key ?? '')) {
    throw new EmergentError('malformed_request', 'the WebSocket handshake is not valid');
  }
}

/** Undefined when the client has gone in the meantime. */
export function upgrade(request: FastifyRequest, reply: FastifyReply): WebSocket | undefined {
  const { raw } = request;
  reply.hijack();
  if (raw.socket.destroyed) return undefined;
  reply.raw.statusCode = 101;
  const head = heads.get(raw) ?? Buffer.alloc(0);
  let opened: WebSocket | undefined;
  // Calls back at once: nothing in the handshake waits.
  sockets.handleUpgrade(raw, raw.socket, head, (socket) => (opened = socket));
  return opened;
}

/** The token among the protocols that the client names; never in the URL, which is written into logs. */
export function bearerProtocol({ headers }: FastifyRequest): string | undefined {
  const offered = headers['sec-websocket-protocol']?.split(',') ?? [];
  const named = offered.map((name) => name.trim()).find((name) => name.startsWith(tokenPrefix));
  return named?.slice(tokenPrefix.length);
}
