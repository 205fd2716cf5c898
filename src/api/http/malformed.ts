import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import { errorStatus } from '../error-status.ts';
import { errorBodyOf } from '../errors/error-reply.ts';
import { closeLingering } from './linger.ts';

/** Answers what never became a request: bytes that are not HTTP, headers that are too large or too slow. */
export class MalformedHttp {
  readonly #answering = new WeakMap<Socket, Set<ServerResponse>>();
  readonly #log: Log;
  readonly #clock: Clock;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** To be told of every request, so that an answer that has begun is not written into. */
  began(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const answers = this.#answering.get(socket) ?? new Set();
    this.#answering.set(socket, answers.add(response));
    response.once('close', () => answers.delete(response));
  }

  readonly onClientError = (failure: NodeJS.ErrnoException, socket: Socket): void => {
    const answers = [...(this.#answering.get(socket) ?? [])];
    const answerBegan = answers.some((answer) => answer.headersSent && !answer.writableFinished);
    if (!socket.writable || failure.code === 'ECONNRESET' || answerBegan) {
      socket.destroy();
      return;
    }
    const requestId = randomUUID();
    const error = new EmergentError('malformed_request', wordsFor(failure));
    this.#log.info('request refused', { request_id: requestId, reason: error.message });
    socket.write(rawAnswer(error, requestId));
    closeLingering(socket, this.#clock);
  };
}

const knownFailures: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'the request line and headers are too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'the request line and headers did not arrive in time',
};

function wordsFor(failure: NodeJS.ErrnoException): string {
  return knownFailures[failure.code ?? ''] ?? `this is not HTTP: ${reasonOf(failure)}`;
}

function rawAnswer(error: EmergentError, requestId: string): string {
  const body = JSON.stringify(errorBodyOf(error, requestId));
  return [
    `HTTP/1.1 ${String(errorStatus[error.code])} Bad Request`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${String(Buffer.byteLength(body))}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
