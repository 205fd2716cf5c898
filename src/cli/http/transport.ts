import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { withDeadline } from '../../base/deadline.ts';
import { Failure } from '../failure.ts';
import { exchange } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import { asFailure, refusal } from './failures.ts';
import type { Connection } from './settings.ts';

const defaultAnswerMs = 30_000;
const readBodyMs = 60_000;
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
    const url = new URL(`${this.#connection.url}/api/v1${call.path}`);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, value);
    }
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
