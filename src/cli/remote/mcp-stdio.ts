import {
  PROTOCOL_VERSION_META_KEY,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
} from '@modelcontextprotocol/client';
import type {
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  RequestId,
} from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { Clock } from '../../base/clock.ts';
import { reasonOf } from '../../base/reason.ts';
import { Failure } from '../failure.ts';
import { connectionLost } from '../http/failures.ts';
import type { Connection } from '../http/settings.ts';
import { Upstream } from './mcp-stdio-upstream.ts';

/** JSON-RPC leaves this range to servers. */
const serverError = -32_000;

/** What asks and changes nothing, or the same again: sent once more when its answer was lost on the way. */
const repeatable = new Set([
  'initialize',
  'server/discover',
  'ping',
  'tools/list',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
  'subscriptions/listen',
]);

/** How often a request is sent once more, each time after a longer pause. */
const maxRepeats = 5;
const firstPauseMs = 100;
const longestPauseMs = 2_000;
/** Has no answer but what it tells until it is cancelled, and so is taken up again however often it breaks. */
const endless = 'subscriptions/listen';

/** A request of the client that has no answer yet. */
interface Waiting {
  readonly request: JSONRPCRequest;
  /** How often it was sent before. */
  readonly repeats: number;
  /** Hangs up. */
  readonly hangUp: AbortController;
}

export interface RelayOptions {
  readonly way: Connection;
  /** The MCP endpoint. */
  readonly url: string;
  readonly clock: Clock;
  /** For the person who reads standard error. */
  readonly tell: (text: string) => void;
}

/**
 * Carries messages between a client on standard input and output and an MCP endpoint over Streamable HTTP, whatever
 * they say. What fails on the way becomes the answer of the request that it befell. Ends with the standard input.
 */
export class StdioRelay {
  readonly #local = new StdioServerTransport();
  readonly #upstream: Upstream;
  readonly #options: RelayOptions;
  readonly #waiting = new Map<RequestId, Waiting>();
  readonly #ended = new AbortController();
  /** What the client told last: what it says next must not overtake it. */
  #told: Promise<void> = Promise.resolve();

  constructor(options: RelayOptions) {
    this.#options = options;
    const onMessage = (message: JSONRPCMessage): void => {
      this.#deliver(message);
    };
    this.#upstream = new Upstream({ ...options, onMessage });
  }

  /** Resolves when the client has closed our input, or `stop` aborts. */
  async run(stop: AbortSignal): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#local.onclose = closed.resolve;
    this.#local.onerror = (error) => {
      this.#options.tell(`what came in is no message: ${reasonOf(error)}`);
    };
    this.#local.onmessage = (message) => {
      this.#take(message);
    };
    stop.addEventListener('abort', () => void this.#local.close(), { once: true });
    await this.#upstream.start();
    await this.#local.start();
    await closed.promise;
    this.#ended.abort(new Error('the client has left'));
    await this.#upstream.close();
  }

  #take(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) {
      void this.#ask(message);
      return;
    }
    const cancels = isJSONRPCNotification(message) ? this.#cancelledBy(message) : undefined;
    if (cancels && isModern(cancels.request)) {
      cancels.hangUp.abort(cancelled);
      return;
    }
    this.#told = this.#told.then(async () => {
      await this.#tell(message);
      cancels?.hangUp.abort(cancelled);
    });
  }

  /** The request that the client wants ended: by its message in the 2025 revisions, by our hanging up since then. */
  #cancelledBy({ method, params }: JSONRPCNotification): Waiting | undefined {
    if (method !== 'notifications/cancelled') return undefined;
    const waiting = this.#waiting.get(params?.['requestId'] as RequestId);
    // Nobody waits for its answer any more.
    if (waiting) this.#waiting.delete(waiting.request.id);
    return waiting;
  }

  async #ask(request: JSONRPCRequest, repeats = 0): Promise<void> {
    const waiting = { request, repeats, hangUp: new AbortController() };
    const { signal } = waiting.hangUp;
    this.#waiting.set(request.id, waiting);
    await this.#told;
    try {
      await this.#upstream.send(request, {
        signal: AbortSignal.any([signal, this.#ended.signal]),
        repeatable: repeatable.has(request.method),
        onStreamEnd: () => void this.#streamEnded(waiting),
      });
    } catch (error) {
      await this.#fail(waiting, error);
    }
  }

  /** Without an answer: the connection broke. */
  async #streamEnded(waiting: Waiting): Promise<void> {
    const { request, repeats, hangUp } = waiting;
    if (!this.#isWaiting(waiting)) return;
    const mayRepeat = request.method === endless || repeats < maxRepeats;
    if (!repeatable.has(request.method) || !mayRepeat) {
      await this.#fail(waiting, connectionLost(new URL(this.#options.url).origin));
      return;
    }
    const pauseMs = Math.min(firstPauseMs * 2 ** repeats, longestPauseMs);
    const over = AbortSignal.any([hangUp.signal, this.#ended.signal]);
    try {
      await this.#options.clock.sleep(pauseMs, over);
    } catch {
      // Cancelled, or the client has left: nobody waits any more.
      return;
    }
    await this.#ask(request, repeats + 1);
  }

  async #fail(waiting: Waiting, error: unknown): Promise<void> {
    if (!this.#isWaiting(waiting) || this.#ended.signal.aborted) return;
    const { id } = waiting.request;
    this.#waiting.delete(id);
    const failure = error instanceof Failure ? error : new Failure('internal', reasonOf(error));
    const { code, message, hint } = failure;
    this.#options.tell(hint === undefined ? message : `${message}. ${hint}`);
    await this.#answer({
      jsonrpc: '2.0',
      id,
      error: { code: serverError, message, data: { code, ...(hint !== undefined && { hint }) } },
    });
  }

  /** Nobody waits for an answer, so that a failure can only be told to the person. */
  async #tell(message: JSONRPCMessage): Promise<void> {
    try {
      await this.#upstream.send(message, { signal: this.#ended.signal, repeatable: true });
    } catch (error) {
      if (!this.#ended.signal.aborted) this.#options.tell(reasonOf(error));
    }
  }

  #deliver(message: JSONRPCMessage): void {
    if ('id' in message && !('method' in message) && message.id !== undefined) {
      const waiting = this.#waiting.get(message.id);
      // Cancelled meanwhile, or answered twice.
      if (!waiting) return;
      this.#waiting.delete(message.id);
      if (waiting.request.method === 'initialize' && isJSONRPCResultResponse(message)) {
        this.#upstream.agreed(String(message.result['protocolVersion']));
      }
    }
    void this.#answer(message);
  }

  async #answer(message: JSONRPCMessage): Promise<void> {
    try {
      await this.#local.send(message);
    } catch (error) {
      // The transport closes itself when nobody reads, and that ends us.
      if (!this.#ended.signal.aborted) this.#options.tell(reasonOf(error));
    }
  }

  #isWaiting(waiting: Waiting): boolean {
    return this.#waiting.get(waiting.request.id) === waiting;
  }
}

const cancelled = new Error('cancelled by the client');

/** Of a revision that has the version in each request. */
function isModern({ params }: JSONRPCRequest): boolean {
  return typeof params?._meta?.[PROTOCOL_VERSION_META_KEY] === 'string';
}
