import {
  isInitializeRequest,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type {
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
} from '@modelcontextprotocol/server';
import type { Caller } from '../../domain/caller.ts';
import type { EmergentError } from '../../domain/errors.ts';
import type {
  JsonObject,
  JsonRpcId,
  JsonRpcNotification,
  JsonRpcOutcome,
} from '../../domain/json-rpc.ts';
import type { McpClient, McpConnection } from '../../engine/mcp/connection.ts';
import { HeldNotices } from './held-notices.ts';
import type { HostedServer, Member } from './hosted-server.ts';
import { Questions } from './questions.ts';
import type { SessionFacts } from './session-ids.ts';
import type { SessionCalls } from './session-calls.ts';
import { initializeResult, syntheticInitialize } from './session-opening.ts';
import { staleLists } from './stale-lists.ts';
import { Wishes } from './wishes.ts';

export interface SessionParts {
  readonly hosted: HostedServer;
  readonly caller: Caller;
  readonly calls: SessionCalls;
  readonly heartbeatMs: number;
  /** It is over: its client ended it, or its server is gone. */
  readonly ended: (session: Session) => void;
}

/**
 * A client of the 2025 revisions, from its `initialize` to its DELETE. The SDK's transport reads and writes the HTTP
 * side; messages pass through it as they are, in both directions, so that whatever a client and a program agree on
 * works without being known here. Programs come and go beneath it.
 */
export class Session implements Member {
  readonly id: string;
  readonly facts: SessionFacts;
  readonly caller: Caller;
  readonly client: McpClient;
  /** Why the program cannot be talked to, as the last request found it. */
  failure: EmergentError | undefined;
  readonly #parts: SessionParts;
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  readonly #membership: Disposable;
  readonly #calls = new Map<JsonRpcId, AbortController>();
  /** Calls whose stream is still open. */
  readonly #streams = new Set<JsonRpcId>();
  readonly #questions = new Questions();
  readonly #held = new HeldNotices();
  readonly #wishes = new Wishes();
  /** The stream for what belongs to no call. */
  #listening: Request | undefined;
  #over = false;

  constructor(id: string, facts: SessionFacts, parts: SessionParts) {
    this.id = id;
    this.facts = facts;
    this.caller = parts.caller;
    this.#parts = parts;
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      keepAliveMs: parts.heartbeatMs,
    });
    this.#transport.onmessage = (message) => {
      this.#receive(message);
    };
    this.#transport.onclose = () => {
      this.end();
    };
    this.client = {
      id: `session:${id}`,
      capabilities: facts.capabilities,
      notify: (notice) => {
        this.#tell(notice);
      },
    };
    this.#membership = parts.hosted.join(this);
  }

  get connection(): McpConnection | undefined {
    return this.failure ? undefined : this.#parts.hosted.connection;
  }

  /** Nothing of it is in use now. */
  get isIdle(): boolean {
    return this.#calls.size === 0 && this.#listening === undefined;
  }

  /** Makes a session that another server of ours began, or that was put away, ready for its next request. */
  async revive(): Promise<void> {
    const request = new Request('http://localhost/', {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
    });
    const parsedBody = syntheticInitialize(this.facts);
    const response = await this.#transport.handleRequest(request, { parsedBody });
    await response.body?.cancel();
  }

  async handle(request: Request, parsedBody: unknown): Promise<Response> {
    if (request.method === 'GET') return this.#listen(request);
    for (const { id } of requestsIn(parsedBody)) {
      request.signal.addEventListener('abort', () => this.#streams.delete(id), { once: true });
      this.#streams.add(id);
    }
    return this.#transport.handleRequest(request, { parsedBody });
  }

  attached(connection: McpConnection, changed: boolean): void {
    this.#wishes.renew((request) => {
      this.#parts.calls.ownCall(connection, request, this.client);
    });
    if (changed) for (const notice of staleLists(connection.introduction)) this.#tell(notice);
  }

  expelled(): void {
    this.end();
  }

  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#membership[Symbol.dispose]();
    for (const controller of this.#calls.values()) controller.abort(this.#parts.calls.cancelled());
    this.#questions.dismiss();
    void this.#transport.close();
    this.#parts.ended(this);
  }

  /** Ends what has no end of its own; calls go on. */
  stopListening(): void {
    this.#listening = undefined;
    this.#transport.closeStandaloneSSEStream();
  }

  /** A client that comes again has lost the stream that it had, whatever the connection says. */
  async #listen(request: Request): Promise<Response> {
    this.stopListening();
    const response = await this.#transport.handleRequest(request);
    if (!response.ok) return response;
    this.#listening = request;
    request.signal.addEventListener(
      'abort',
      () => {
        if (this.#listening === request) this.#listening = undefined;
      },
      { once: true },
    );
    for (const notice of this.#held.take()) this.#tell(notice);
    return response;
  }

  #receive(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) void this.#answer(message);
    else if (isJSONRPCNotification(message)) this.#noted(message);
    else if (isJSONRPCResultResponse(message)) {
      this.#questions.answered(message.id, { result: message.result });
    } else if (isJSONRPCErrorResponse(message)) {
      this.#questions.answered(message.id, { error: message.error });
    }
  }

  #noted({ method, params }: JSONRPCNotification): void {
    if (method === 'notifications/cancelled') {
      const id = params?.['requestId'] as JsonRpcId;
      this.#calls.get(id)?.abort(this.#parts.calls.cancelled());
    } else if (method !== 'notifications/initialized') {
      this.#parts.hosted.connection?.notify({ method, ...(params && { params }) }, this.client);
    }
  }

  /** Never rejects. Nothing is owed to a call that was cancelled, but its stream ends. */
  async #answer(request: JSONRPCRequest): Promise<void> {
    const controller = new AbortController();
    this.#calls.set(request.id, controller);
    const outcome = await this.#outcomeOf(request, controller.signal);
    this.#calls.delete(request.id);
    this.#streams.delete(request.id);
    if (controller.signal.aborted) this.#transport.closeSSEStream(request.id);
    this.#send({ jsonrpc: '2.0', id: request.id, ...outcome });
  }

  async #outcomeOf(request: JSONRPCRequest, signal: AbortSignal): Promise<JsonRpcOutcome> {
    const { calls, hosted } = this.#parts;
    if (request.method === 'ping') return { result: {} };
    if (isInitializeRequest(request)) {
      return initializeResult(hosted.connection, this.facts.protocolVersion);
    }
    const { method, params } = request;
    const wanted = { method, ...(params && { params }) };
    const onProgress = (notice: JsonRpcNotification): void => {
      this.#send({ jsonrpc: '2.0', ...notice }, request.id);
    };
    const client = this.#clientOf(request.id);
    const outcome = await calls.call(this, wanted, { client, signal, onProgress });
    if ('result' in outcome) this.#wishes.granted(wanted);
    return outcome;
  }

  #tell(notice: JsonRpcNotification): void {
    if (this.#listening) this.#send({ jsonrpc: '2.0', ...notice });
    else this.#held.hold(notice);
  }

  /** The client as one of its calls has it: what the program asks meanwhile goes out on the stream of that call. */
  #clientOf(call: JsonRpcId): McpClient {
    const send = (message: JsonObject): boolean => {
      const hasStream = this.#streams.has(call);
      if (!hasStream && !this.#listening) return false;
      this.#send(message, hasStream ? call : undefined);
      return true;
    };
    return {
      ...this.client,
      request: (question, signal) => this.#questions.ask(question, signal, send),
    };
  }

  /** The SDK rejects where the stream of a call is gone: its client has gone away, and nobody is left to tell. */
  #send(message: JsonObject, relatedRequestId?: JsonRpcId): void {
    const options = relatedRequestId === undefined ? {} : { relatedRequestId };
    this.#transport.send(message as unknown as JSONRPCMessage, options).catch(() => undefined);
  }
}

function requestsIn(body: unknown): readonly JSONRPCRequest[] {
  return [body].flat().filter((message) => isJSONRPCRequest(message));
}
