import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import type { EmergentError } from '../../../domain/errors.ts';
import type {
  JsonRpcId,
  JsonRpcNotification,
  JsonRpcOutcome,
  JsonRpcRequest,
} from '../../../domain/json-rpc.ts';
import type { McpIntroduction } from '../../../domain/mcp.ts';
import type { CallOptions, McpClient, McpConnection } from '../connection.ts';
import { bridgeBounds } from './bounds.ts';
import { Calls } from './calls.ts';
import { dialectOf, ownMessage } from './dialect.ts';
import type { Dialect } from './dialect.ts';
import { Dispatch } from './dispatch.ts';
import { progressTokenOf } from './envelope.ts';
import { failures } from './failures.ts';
import { mayBeTold } from './from-clients.ts';
import { Inbox } from './inbox.ts';
import { introduce } from './introduce.ts';
import { News } from './news.ts';
import { Outbox } from './outbox.ts';
import { encode } from './outgoing.ts';
import { Questions } from './questions.ts';
import { within } from './timeout.ts';

export interface BridgeOptions {
  /** Writes to the program's standard input; never called twice at once. Fails when it cannot be written. */
  readonly write: (data: Uint8Array, signal: AbortSignal) => Promise<void>;
  /** How many calls the program is given at once. */
  readonly maxInFlight: number;
  readonly clock: Clock;
  readonly log: Log;
  /** A line on its standard output that is no message. */
  readonly onStray: (line: string) => void;
}

interface Spoken {
  readonly introduction: McpIntroduction;
  readonly dialect: Dialect;
}

/**
 * One program's pipe, from when it was started or found alive until `close`. It is fed what the program writes and
 * writes what the program reads; everything between is here: first `introduce`, or `adopt` where an earlier server of
 * ours has done that, then calls of many clients, each of whom believes to be alone.
 */
export class Bridge implements McpConnection {
  readonly #options: BridgeOptions;
  readonly #inbox: Inbox;
  readonly #dispatch: Dispatch;
  readonly #outbox: Outbox;
  readonly #calls: Calls;
  readonly #questions: Questions;
  readonly #news: News;
  readonly #ended = new AbortController();
  #spoken: Spoken | null = null;
  #closed: EmergentError | null = null;

  constructor(options: BridgeOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#outbox = new Outbox(options);
    this.#calls = new Calls({
      maxInFlight: options.maxInFlight,
      clock,
      post: (bytes, onFailed) => this.#outbox.post(bytes, onFailed),
      cancellation: (id, reason) => this.#cancellation(id, reason),
      onEnded: (call) => {
        this.#questions.callEnded(call);
      },
    });
    const inFlight = (): Calls['inFlight'] => this.#calls.inFlight;
    this.#questions = new Questions({
      inFlight,
      post: (bytes) => this.#outbox.post(bytes, ignored),
      log,
    });
    this.#news = new News({
      clock,
      log,
      inFlight,
      newId: () => this.#calls.newId(),
      listens: () => this.#spoken?.dialect.listens ?? false,
      capabilities: () => this.#spoken?.introduction.capabilities ?? {},
      ask: (request) => this.#ask(this.#own(request), bridgeBounds.ownCallTimeoutMs, null),
      request: (id, request) =>
        this.#outbox.post(encode.request(id, this.#own(request)), ignored) !== null,
      cancel: (id) => {
        this.#tell(this.#cancellation(id, 'nobody listens any more'));
      },
    });
    const parts = { calls: this.#calls, questions: this.#questions, news: this.#news };
    this.#dispatch = new Dispatch({ ...parts, clock, log });
    this.#inbox = new Inbox({
      onMessage: (message) => {
        this.#dispatch.message(message);
      },
      onTooLarge: (id) => {
        this.#dispatch.tooLarge(id);
      },
      onStray: options.onStray,
    });
  }

  get introduction(): McpIntroduction {
    return this.#introduced().introduction;
  }

  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Calls that the program has now; ours are not counted. */
  get inFlight(): number {
    return this.#calls.turnsTaken;
  }

  get waiting(): number {
    return this.#calls.waiting;
  }

  get clients(): number {
    return this.#news.clients;
  }

  get strayLines(): number {
    return this.#inbox.strayLines;
  }

  /** Answers that nobody waited for: too late, given twice, or to a call of an earlier server of ours. */
  get lateAnswers(): number {
    return this.#dispatch.lateAnswers;
  }

  get lastHeardAt(): Date | null {
    return this.#dispatch.lastHeardAt;
  }

  /** What the program wrote to its standard output, in whatever pieces. */
  feed(stdout: Uint8Array): void {
    if (!this.#closed) this.#inbox.feed(stdout);
  }

  /** So much of its output was lost on the way. */
  skipped(bytes: number): void {
    this.#options.log.warn('output of an MCP server was lost', { bytes });
    if (!this.#closed) this.#inbox.skipped();
  }

  /** Once, before anything else. */
  async introduce(timeoutMs: number, signal: AbortSignal): Promise<McpIntroduction> {
    const { clock } = this.#options;
    const introducing = {
      clock,
      ask: (request: JsonRpcRequest, ms: number) => this.#ask(request, ms, signal, false),
      tell: (notification: JsonRpcNotification) => {
        this.#tell(notification);
      },
    };
    const introduction = await introduce(introducing, timeoutMs);
    this.adopt(introduction);
    return introduction;
  }

  /** Instead of `introduce`: it has introduced itself to an earlier server of ours. */
  adopt(introduction: McpIntroduction): void {
    this.#spoken = { introduction, dialect: dialectOf(introduction) };
  }

  /** Any answer will do: it lives. */
  async ping(timeoutMs: number, signal: AbortSignal): Promise<void> {
    await this.#ask(this.#introduced().dialect.ping, timeoutMs, signal);
  }

  async call(request: JsonRpcRequest, options: CallOptions): Promise<JsonRpcOutcome> {
    const { dialect } = this.#introduced();
    const shared = this.#news.answer(request, options.client.id);
    if (shared) return await this.#shared(request.method, shared, options);
    if (request.method === 'ping') {
      const outcome = await this.#ask(dialect.ping, options.timeoutMs, options.signal);
      return 'error' in outcome ? outcome : { result: {} };
    }
    return await this.#forward(request, options, dialect);
  }

  notify(notification: JsonRpcNotification, client: McpClient): void {
    if (this.#closed || !this.#spoken || !mayBeTold(notification, client, this.#questions)) return;
    const sender = { capabilities: client.capabilities, logLevel: null };
    this.#tell(this.#spoken.dialect.message(notification, sender));
  }

  attach(client: McpClient): Disposable {
    return this.#news.attach(client);
  }

  /** The program has ended or is given up: everything in flight fails with this, and so does every later call. */
  close(why: EmergentError): void {
    if (this.#closed) return;
    this.#closed = why;
    this.#questions.close();
    this.#calls.close(why);
    this.#news.close();
    this.#outbox.close(why);
    this.#ended.abort(why);
  }

  #introduced(): Spoken {
    if (this.#closed) throw this.#closed;
    if (!this.#spoken) throw failures.notIntroduced();
    return this.#spoken;
  }

  /** What clients share is told to the program on our own account; a client stops waiting for it by itself. */
  async #shared(
    method: string,
    work: Promise<JsonRpcOutcome>,
    { signal, timeoutMs }: CallOptions,
  ): Promise<JsonRpcOutcome> {
    const tooLate = failures.tooLate(method, timeoutMs, true);
    return await within(this.#options.clock, timeoutMs, tooLate, work, signal);
  }

  async #forward(
    request: JsonRpcRequest,
    { client, signal, timeoutMs, onProgress }: CallOptions,
    dialect: Dialect,
  ): Promise<JsonRpcOutcome> {
    const { capabilities, id: clientId } = client;
    const sender = { capabilities, logLevel: this.#news.levelOf(clientId) };
    const token = onProgress ? progressTokenOf(request) : null;
    return await this.#calls.start({
      method: request.method,
      message: (id) => {
        const progressToken = token === null ? undefined : id;
        return encode.request(id, dialect.message(request, sender, progressToken));
      },
      client,
      signal,
      timeoutMs,
      onProgress: token === null || !onProgress ? null : withOwnToken(onProgress, token),
      takesTurn: true,
      cancellable: true,
    });
  }

  /** On our own account, exactly as it stands. */
  async #ask(
    request: JsonRpcRequest,
    timeoutMs: number,
    signal: AbortSignal | null,
    cancellable = true,
  ): Promise<JsonRpcOutcome> {
    return await this.#calls.start({
      method: request.method,
      message: (id) => encode.request(id, request),
      client: null,
      signal,
      timeoutMs,
      onProgress: null,
      takesTurn: false,
      cancellable,
    });
  }

  /** Nobody waits for it: what is too large is left out, and what a program does not read it does not miss. */
  #tell(notification: JsonRpcNotification): void {
    try {
      this.#outbox.post(encode.notification(notification), ignored);
    } catch (error) {
      this.#options.log.warn('an MCP server was not notified', { err: error });
    }
  }

  #own(request: JsonRpcRequest): JsonRpcRequest {
    return this.#spoken ? ownMessage(this.#spoken.dialect, request) : request;
  }

  #cancellation(requestId: number, reason: string): JsonRpcNotification {
    return this.#own({ method: 'notifications/cancelled', params: { requestId, reason } });
  }
}

const ignored = (): undefined => undefined;

function withOwnToken(
  onProgress: (notification: JsonRpcNotification) => void,
  progressToken: JsonRpcId,
): (notification: JsonRpcNotification) => void {
  return ({ method, params }) => {
    onProgress({ method, params: { ...params, progressToken } });
  };
}
