import { isInitializeRequest } from '@modelcontextprotocol/server';
import type { Caller } from '../../domain/caller.ts';
import { EmergentError } from '../../domain/errors.ts';
import { jsonRpcErrors } from '../../domain/json-rpc.ts';
import type { JsonObject } from '../../domain/json-rpc.ts';
import type { ApiContext } from '../context.ts';
import type { HostedServer } from './hosted-server.ts';
import { rpcErrorResponse, requestIdIn } from './rpc-error.ts';
import { SessionCalls } from './session-calls.ts';
import { bounded, SessionIds } from './session-ids.ts';
import type { SessionFacts } from './session-ids.ts';
import { negotiated } from './session-opening.ts';
import { Session } from './session.ts';
import { sessionBounds, Sessions } from './sessions.ts';
import type { SessionBounds } from './sessions.ts';
import type { ToolCalls } from './tool-calls.ts';

/** One request of a client of 2025. */
export interface SessionRequest {
  readonly caller: Caller;
  readonly hosted: HostedServer;
  readonly request: Request;
  readonly body: unknown;
  /** Why the program cannot be talked to now. */
  readonly failure: EmergentError | undefined;
}

const header = 'mcp-session-id';

/** Opens sessions, finds the one that a request belongs to, and brings back those that are not held any more. */
export class SessionDesk implements Disposable {
  readonly #ids: SessionIds;
  readonly #sessions: Sessions;
  readonly #calls: SessionCalls;
  readonly #heartbeatMs: number;
  /** Being brought back, so that two requests at once find one session. */
  readonly #reviving = new Map<string, Promise<Session>>();

  constructor(
    { clock, limits, log, sessionKey }: ApiContext,
    tools: ToolCalls,
    bounds: SessionBounds = sessionBounds,
  ) {
    this.#ids = new SessionIds(sessionKey);
    this.#calls = new SessionCalls(tools, log);
    this.#heartbeatMs = limits.heartbeatMs;
    this.#sessions = new Sessions(clock, bounds, (error) => {
      log.error('mcp sessions are no longer put away', { err: error });
    });
  }

  get count(): number {
    return this.#sessions.count;
  }

  async handle(from: SessionRequest): Promise<Response> {
    const id = from.request.headers.get(header);
    if (id === null) return isInitializeRequest(from.body) ? this.#open(from) : needsSession(from);
    const session = await this.#find(id, from);
    session.failure = from.failure;
    return session.handle(from.request, from.body);
  }

  /** Streams without an end of their own end; calls go on. */
  stopListening(): void {
    for (const session of this.#sessions.all) session.stopListening();
  }

  [Symbol.dispose](): void {
    this.#sessions[Symbol.dispose]();
  }

  #open(from: SessionRequest): Promise<Response> {
    const { params } = from.body as { params: JsonObject };
    const facts: SessionFacts = {
      serverId: from.hosted.id,
      tokenId: from.caller.tokenId,
      capabilities: bounded(params['capabilities'] as JsonObject),
      protocolVersion: negotiated(params['protocolVersion']),
    };
    const session = this.#begin(this.#ids.make(facts), facts, from);
    return session.handle(from.request, from.body);
  }

  async #find(id: string, from: SessionRequest): Promise<Session> {
    const held = this.#sessions.find(id);
    const facts = held?.facts ?? (this.#sessions.isOver(id) ? undefined : this.#ids.read(id));
    const isTheirs = facts?.serverId === from.hosted.id && facts.tokenId === from.caller.tokenId;
    if (!facts || !isTheirs) throw noSession();
    return held && !this.#reviving.has(id) ? held : this.#revived(id, facts, from);
  }

  #revived(id: string, facts: SessionFacts, from: SessionRequest): Promise<Session> {
    const begun = this.#reviving.get(id) ?? this.#revive(id, facts, from);
    this.#reviving.set(id, begun);
    return begun;
  }

  async #revive(id: string, facts: SessionFacts, from: SessionRequest): Promise<Session> {
    try {
      const session = this.#begin(id, facts, from);
      await session.revive();
      return session;
    } finally {
      this.#reviving.delete(id);
    }
  }

  #begin(id: string, facts: SessionFacts, { caller, hosted }: SessionRequest): Session {
    this.#sessions.admit(facts.serverId);
    const session = new Session(id, facts, {
      caller,
      hosted,
      calls: this.#calls,
      heartbeatMs: this.#heartbeatMs,
      ended: (over) => {
        this.#sessions.ended(over);
      },
    });
    this.#sessions.add(session);
    return session;
  }
}

/** As the specification has it: the client begins anew. */
function noSession(): EmergentError {
  return new EmergentError('not_found', 'there is no such MCP session', {
    hint: 'Send a new initialize request, without a session id.',
  });
}

function needsSession({ body }: SessionRequest): Response {
  const error = {
    code: jsonRpcErrors.invalidRequest,
    message: 'a session id is missing: begin with initialize, or send the envelope of 2026-07-28',
  };
  return rpcErrorResponse(400, error, requestIdIn(body));
}
