import { untilAborted } from '../../base/until-aborted.ts';
import type {
  JsonObject,
  JsonRpcNotification,
  JsonRpcOutcome,
  JsonRpcRequest,
} from '../../domain/json-rpc.ts';
import type { CallOptions, McpClient } from '../../engine/mcp/connection.ts';
import { callTimeoutMs } from './session-calls.ts';
import { cancelled } from './tool-calls.ts';

interface Question {
  readonly request: JsonRpcRequest;
  readonly answer: (outcome: JsonRpcOutcome) => void;
}

/** What came of one round: the call has ended, or the program asks something. */
export type Round =
  | { readonly outcome: JsonRpcOutcome }
  | { readonly questions: Readonly<Record<string, JsonRpcRequest>> };

/** Who hears of the call during one of its rounds. */
export interface Hearer {
  readonly signal: AbortSignal;
  readonly notify: (notice: JsonRpcNotification) => void;
}

/**
 * One call of a program of 2025 on behalf of a client of 2026-07-28. Such a program asks in the middle of the call, and
 * such a client is asked by being answered: so the call goes on while the client is away, and each request of the
 * client is a round of it. Between rounds nobody hears of progress.
 */
export class RoundCall {
  readonly #abort = new AbortController();
  readonly #questions = new Map<string, Question>();
  readonly #outcome: Promise<JsonRpcOutcome>;
  #asked = Promise.withResolvers<void>();
  #hearer: Hearer | undefined;
  #lastKey = 0;

  constructor(client: McpClient, start: (options: CallOptions) => Promise<JsonRpcOutcome>) {
    this.#outcome = start({
      client: { ...client, request: (question, signal) => this.#ask(question, signal) },
      signal: this.#abort.signal,
      timeoutMs: callTimeoutMs,
      onProgress: (notice) => this.#hearer?.notify(notice),
    });
    // It may fail while the client is away; then its next round says so.
    this.#outcome.catch(() => undefined);
  }

  /** A client that hangs up in the middle of a round has cancelled the call. */
  async round(hearer: Hearer): Promise<Round> {
    this.#hearer = hearer;
    const onGone = (): void => {
      this.abandon(cancelled());
    };
    hearer.signal.addEventListener('abort', onGone, { once: true });
    try {
      return await Promise.race([
        this.#outcome.then((outcome) => ({ outcome })),
        this.#asked.promise.then(() => ({ questions: this.#open() })),
      ]);
    } finally {
      hearer.signal.removeEventListener('abort', onGone);
      this.#hearer = undefined;
    }
  }

  /** What was asked and is not among the answers is asked again. */
  answer(answers: JsonObject): void {
    for (const [key, { answer }] of [...this.#questions]) {
      const result = answers[key];
      if (typeof result !== 'object' || result === null) continue;
      this.#questions.delete(key);
      answer({ result: result as JsonObject });
    }
    this.#asked = Promise.withResolvers();
    if (this.#questions.size > 0) this.#asked.resolve();
  }

  abandon(reason: Error): void {
    this.#abort.abort(reason);
  }

  #open(): Readonly<Record<string, JsonRpcRequest>> {
    const open = [...this.#questions].map(([key, { request }]) => [key, request] as const);
    return Object.fromEntries(open);
  }

  async #ask(request: JsonRpcRequest, signal: AbortSignal): Promise<JsonRpcOutcome> {
    const key = `question-${String(++this.#lastKey)}`;
    const { promise, resolve } = Promise.withResolvers<JsonRpcOutcome>();
    this.#questions.set(key, { request, answer: resolve });
    this.#asked.resolve();
    try {
      return await untilAborted(promise, signal);
    } finally {
      this.#questions.delete(key);
    }
  }
}
