import { expect } from 'vitest';
import type { Answer, Contract } from './contract.ts';

export interface CallOptions {
  readonly json?: unknown;
  readonly body?: NonNullable<RequestInit['body']>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface ErrorAnswer {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly request_id: string;
}

/** One caller of a running server. */
export class Client {
  readonly url: string;
  readonly token: string | undefined;
  readonly #contract: Contract | undefined;

  constructor(url: string, token: string | undefined, contract?: Contract) {
    this.url = url;
    this.token = token;
    this.#contract = contract;
  }

  as(token: string | undefined): Client {
    return new Client(this.url, token, this.#contract);
  }

  /** The response as it is, unread. */
  fetch(method: string, path: string, options: CallOptions = {}): Promise<Response> {
    const body = options.json === undefined ? options.body : JSON.stringify(options.json);
    return fetch(this.url + path, {
      method,
      headers: {
        ...(this.token !== undefined && { authorization: `Bearer ${this.token}` }),
        ...(options.json !== undefined && { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(body !== undefined && { body, duplex: 'half' as const }),
      ...(options.signal && { signal: options.signal }),
    });
  }

  /** The whole answer, held against the OpenAPI document. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const response = await this.fetch(method, path, options);
    const { status, headers } = response;
    const answer = { status, headers, text: await response.text() };
    expect(headers.get('x-request-id'), 'every answer carries X-Request-Id').toBeTruthy();
    this.#contract?.check(method, path, answer);
    return answer;
  }

  /** The JSON body of an answer that must have `status`. */
  async json<T>(status: number, method: string, path: string, options?: CallOptions): Promise<T> {
    const answer = await this.call(method, path, options);
    expect(answer.status, answer.text).toBe(status);
    return JSON.parse(answer.text) as T;
  }

  /** The error of an answer that must have `status`. */
  async error(
    status: number,
    method: string,
    path: string,
    options?: CallOptions,
  ): Promise<ErrorAnswer> {
    const answer = await this.call(method, path, options);
    expect(answer.status, answer.text).toBe(status);
    const { error } = JSON.parse(answer.text) as { error: ErrorAnswer };
    expect(error.request_id).toBe(answer.headers.get('x-request-id'));
    return error;
  }
}
