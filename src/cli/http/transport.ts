import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { WebSocket } from 'ws';
import { withDeadline } from '../../base/deadline.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import { Failure } from '../failure.ts';
import { exchange } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import { asFailure, refusal } from './failures.ts';
import type { Connection } from './settings.ts';

const defaultAnswerMs = 30_000;
const readBodyMs = 60_000;
/** The server answers when the terminal is there. */
const upgradeMs = 60_000;
/** A page of workspaces stays far below it; more means that the other side is something else. */
const maxBodyBytes = 64 * 2 ** 20;

export interface Call {
  readonly method: Exchange['method'];
  /** Below /api/v1, every part already encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly json?: unknown;
  readonly bytes?: { readonly content: Readable; readonly size: number | undefined };
  readonly accept?: string;
  readonly answerMs?: number;
  readonly signal?: AbortSignal;
}

/** Calls of the API: the token, JSON in and out, refusals as Failures. */
export class Transport {
  readonly #connection: Connection;
  readonly origin: string;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.origin = new URL(connection.url).origin;
  }

  /** The answer of a call that succeeded, its body not yet read. */
  async open(call: Call): Promise<IncomingMessage> {
    const url = this.#url(call);
    const body = call.bytes?.content ?? (call.json === undefined ? undefined : toJson(call.json));
    const answer = await exchange({
      method: call.method,
      url,
      headers: this.#headers(call),
      ...(body !== undefined && { body }),
      answerMs: call.answerMs ?? defaultAnswerMs,
      ...(call.signal && { signal: call.signal }),
    });
    const status = answer.statusCode ?? 0;
    if (status >= 200 && status < 300) return answer;
    throw refusal(answer, await this.#text(answer, call.signal), this.#connection.tokenSource);
  }

  /**
   * Upgrades a call to a WebSocket; resolves when the server has accepted it. Paused: its first message may have
   * come with the acceptance, and would be told to nobody.
   */
  async socket(call: Pick<Call, 'path' | 'query' | 'signal'>): Promise<WebSocket> {
    const { signal } = call;
    // Loaded when it is used: only terminals do, and it takes a good part of a short command's time.
    const { WebSocket } = await import('ws');
    const socket = new WebSocket(this.#url(call), {
      headers: { authorization: `Bearer ${this.#connection.token}` },
      handshakeTimeout: upgradeMs,
      perMessageDeflate: false,
    });
    try {
      return await untilAborted(accepted(socket), signal ?? new AbortController().signal);
    } catch (error) {
      socket.terminate();
      if (!(error instanceof RefusedUpgrade)) throw asFailure(error, this.origin, signal);
      const { answer } = error;
      throw refusal(answer, await this.#text(answer, signal), this.#connection.tokenSource);
    }
  }

  #url(call: Pick<Call, 'path' | 'query'>): URL {
    const url = new URL(`${this.#connection.url}/api/v1${call.path}`);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, value);
    }
    return url;
  }

  /** The whole answer, parsed. */
  async json(call: Call): Promise<unknown> {
    const text = await this.#text(await this.open(call), call.signal);
    if (text === '') return undefined;
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new Failure(
        'unexpected_answer',
        `${this.origin} answered with something else than JSON`,
        {
          hint: 'Is this an Emergent server? Check EMERGENT_URL or --url.',
          cause: error,
        },
      );
    }
  }

  #headers(call: Call): Record<string, string> {
    const { json, bytes } = call;
    return {
      authorization: `Bearer ${this.#connection.token}`,
      accept: call.accept ?? 'application/json',
      ...(json !== undefined && {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(toJson(json))),
      }),
      ...(bytes && { 'content-type': 'application/octet-stream' }),
      ...(bytes?.size !== undefined && { 'content-length': String(bytes.size) }),
    };
  }

  async #text(answer: IncomingMessage, signal: AbortSignal | undefined): Promise<string> {
    const what = `the answer of ${this.origin}`;
    try {
      return await withDeadline(what, readBodyMs, () => readText(answer), signal);
    } catch (error) {
      throw asFailure(error, this.origin, signal);
    } finally {
      answer.destroy();
    }
  }
}

class RefusedUpgrade extends Error {
  readonly answer: IncomingMessage;

  constructor(answer: IncomingMessage) {
    super('the upgrade was refused');
    this.answer = answer;
  }
}

function accepted(socket: WebSocket): Promise<WebSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket>();
  socket.once('open', () => {
    socket.pause();
    resolve(socket);
  });
  socket.once('unexpected-response', (_, answer) => {
    reject(new RefusedUpgrade(answer));
  });
  // Stays for the life of the socket: an error later on is told by its close.
  socket.on('error', reject);
  promise.catch(() => undefined);
  return promise;
}

async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBodyBytes) {
      throw new Failure('unexpected_answer', 'the server sent an answer that is too large');
    }
  }
  return Buffer.concat(chunks).toString('utf8');
}

function toJson(value: unknown): string {
  return JSON.stringify(value);
}
