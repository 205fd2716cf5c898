import {
  StreamableHTTPClientTransport,
  isInitializeRequest,
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
} from '@modelcontextprotocol/client';
import type { JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/client';
import type { Clock } from '../../base/clock.ts';
import { abortReason } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import { Failure } from '../failure.ts';
import type { Connection } from '../http/settings.ts';
import { sendFailure } from './mcp-stdio-failures.ts';

/** How long a server may be away before a message to it is given up. */
const patienceMs = 60_000;
const firstPauseMs = 250;
const longestPauseMs = 2_000;
const handshakeMs = 30_000;
const goodbyeMs = 2_000;

export interface UpstreamOptions {
  readonly way: Connection;
  /** The MCP endpoint. */
  readonly url: string;
  readonly clock: Clock;
  readonly tell: (text: string) => void;
  readonly onMessage: (message: JSONRPCMessage) => void;
}

export interface SendOptions {
  readonly signal: AbortSignal;
  /** The answer's stream is over, whether or not the answer was on it. */
  readonly onStreamEnd?: () => void;
  /** It does no harm to send it twice. */
  readonly repeatable: boolean;
}

/**
 * The server's side of a relay. A server that is away for a while is waited for; a session that it does not know any
 * more is begun anew by the client's own handshake, without the client noticing.
 */
export class Upstream {
  readonly #options: UpstreamOptions;
  #transport: StreamableHTTPClientTransport;
  #handshake: JSONRPCRequest | undefined;
  #handshakes = 0;
  #reviving: Promise<void> | undefined;
  /** One that was never reached is not waited for: its address may be wrong. */
  #reached = false;
  #lost = false;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#transport = this.#newTransport(options.onMessage);
  }

  async start(): Promise<void> {
    await this.#transport.start();
  }

  /** Resolves when the server has taken the message; answers come by `onMessage`. */
  async send(message: JSONRPCMessage, options: SendOptions): Promise<void> {
    const { clock } = this.#options;
    const { signal, repeatable } = options;
    const isHandshake = isInitializeRequest(message);
    if (isHandshake) this.#handshake = message as JSONRPCRequest;
    const startedAt = clock.monotonic();
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      await this.#reviving;
      const transport = this.#transport;
      try {
        await transport.send(message, {
          requestSignal: signal,
          ...(options.onStreamEnd && { onRequestStreamEnd: options.onStreamEnd }),
        });
        this.#wasReached();
        return;
      } catch (error) {
        if (signal.aborted) throw abortReason(signal);
        const { failure, again } = sendFailure(error, this.#options.way);
        if (again === 'now' && !isHandshake && this.#canRevive(transport)) {
          await this.#revive(transport);
          continue;
        }
        const mayTry = again === 'later' || (again === 'unclear' && repeatable);
        const isOver = clock.monotonic() - startedAt >= patienceMs;
        if (!mayTry || !this.#reached || isOver) throw failure;
        this.#wasLost(failure);
      }
      await clock.sleep(pauseMs, signal);
    }
  }

  /** What the server has agreed to with the client, for the headers of what follows. */
  agreed(protocolVersion: string): void {
    this.#transport.setProtocolVersion(protocolVersion);
  }

  async close(): Promise<void> {
    const { sessionId } = this.#transport;
    if (sessionId !== undefined && this.#reached && !this.#lost) {
      await withDeadline('ending the session', goodbyeMs, () =>
        this.#transport.terminateSession(),
      ).catch(() => undefined);
    }
    await this.#transport.close();
  }

  #newTransport(onMessage: (message: JSONRPCMessage) => void): StreamableHTTPClientTransport {
    const { url, way } = this.#options;
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { authorization: `Bearer ${way.token}` } },
      // For streams that can be taken up again; the client's own timeout bounds what waits for one.
      reconnectionOptions: {
        initialReconnectionDelay: firstPauseMs,
        maxReconnectionDelay: longestPauseMs,
        reconnectionDelayGrowFactor: 2,
        maxRetries: Infinity,
      },
    });
    transport.onmessage = onMessage;
    return transport;
  }

  #canRevive(failed: StreamableHTTPClientTransport): boolean {
    return failed !== this.#transport || (failed.sessionId !== undefined && !!this.#handshake);
  }

  /** Whoever comes second waits for the first; whoever comes later finds the new session. */
  async #revive(failed: StreamableHTTPClientTransport): Promise<void> {
    if (failed !== this.#transport) return;
    this.#reviving ??= this.#reintroduce().finally(() => {
      this.#reviving = undefined;
    });
    await this.#reviving;
  }

  async #reintroduce(): Promise<void> {
    const { onMessage, tell } = this.#options;
    this.#handshakes += 1;
    const id = `emergent-${String(this.#handshakes)}`;
    const answered = Promise.withResolvers<JSONRPCMessage>();
    const transport = this.#newTransport((message) => {
      if ('id' in message && message.id === id) answered.resolve(message);
      else onMessage(message);
    });
    await transport.start();
    await withDeadline('beginning the session anew', handshakeMs, async (signal) => {
      await transport.send({ ...this.#handshake, id } as JSONRPCRequest, { requestSignal: signal });
      const answer = await answered.promise;
      if (isJSONRPCErrorResponse(answer)) throw new Failure('refused', answer.error.message);
      if (isJSONRPCResultResponse(answer)) {
        transport.setProtocolVersion(String(answer.result['protocolVersion']));
      }
      await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    });
    await this.#transport.close();
    this.#transport = transport;
    tell('the server does not know the session any more; it was begun anew');
  }

  #wasReached(): void {
    this.#reached = true;
    if (this.#lost) this.#options.tell('connected again');
    this.#lost = false;
  }

  #wasLost({ message }: Failure): void {
    if (!this.#lost) this.#options.tell(`${message}; trying again`);
    this.#lost = true;
  }
}
