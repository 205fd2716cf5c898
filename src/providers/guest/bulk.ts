import http from 'node:http';
import type { Duplex } from 'node:stream';
import { abortReason } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import type { EmergentError } from '../../domain/errors.ts';
import { dialled } from './dial.ts';
import { toEmergentError } from './errors.ts';
import { sendBody } from './http.ts';
import type { GuestRequest, GuestResponse, GuestSend } from './http.ts';
import type { GuestLink, GuestLinkOptions } from './link.ts';

const idleMs = 60_000;
/** Beyond this many at a time, transfers share the session instead: slow readers must not lock others out. */
const maxTransfers = 4;

/**
 * Large files travel as HTTP/1.1 on streams of their own. In HTTP/2's frames of 16 KB, each acknowledged, the
 * same bytes cost twice the CPU on both sides, and gVisor pays for every system call. A stream costs one
 * dial, so it is kept for the next transfer for a while. HTTP/1.1 has no ping: the session stands guard.
 */
export class BulkLink {
  readonly #agent: BulkAgent;
  readonly #link: GuestLink;
  readonly #options: GuestLinkOptions;
  #transfers = 0;

  constructor(link: GuestLink, options: GuestLinkOptions) {
    this.#agent = new BulkAgent(options);
    this.#link = link;
    this.#options = options;
  }

  get available(): boolean {
    return this.#transfers < maxTransfers;
  }

  /** A stream is open and unused: a request on it costs no more than one on the session, whatever its size. */
  get idle(): boolean {
    return this.available && Object.values(this.#agent.freeSockets).some((free) => free?.length);
  }

  /** As `GuestSend` says. */
  readonly send: GuestSend = async (request) => {
    let over: (() => void) | undefined;
    const onEnd = (): void => {
      this.#transfers--;
      over?.();
    };
    this.#transfers++;
    try {
      over = await this.#options.wake?.();
      if (request.signal?.aborted) throw abortReason(request.signal);
    } catch (error) {
      onEnd();
      throw error;
    }
    return this.#start(request, onEnd);
  };

  #start(
    { method, path, headers, body, signal }: GuestRequest,
    onEnd: () => void,
  ): Promise<GuestResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<GuestResponse>();
    const request = http.request({
      agent: this.#agent,
      method,
      path,
      headers: { ...headers, host: 'agent', 'x-access-token': this.#options.token },
      ...(signal && { signal }),
    });
    // A request that waits for its stream keeps its end to itself until that has come.
    const onAbort = (): void => {
      if (signal) reject(toEmergentError(abortReason(signal), 'moving a file'));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    request.once('close', () => {
      signal?.removeEventListener('abort', onAbort);
      onEnd();
    });
    request.once('response', (response) => {
      // A refused upload leaves a stream on which nobody can tell where the next request begins.
      if (response.statusCode !== 200) response.once('close', () => request.destroy());
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: response });
    });
    request.on('error', (error) => {
      reject(toEmergentError(error, 'moving a file'));
    });
    this.#link.guard(request).catch((error: unknown) => {
      const reason = toEmergentError(error, 'moving a file');
      reject(reason);
      request.destroy(reason);
    });
    if (body) void sendBody(body, request);
    else request.end();
    return promise;
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Dials for new connections, and lets go of those that were idle for a while. */
class BulkAgent extends http.Agent {
  readonly #dial: GuestLinkOptions['dial'];
  readonly #clock: Clock;
  readonly #idle = new WeakMap<Duplex, AbortController>();
  #closed = false;

  constructor({ dial, clock }: GuestLinkOptions) {
    super({ keepAlive: true });
    this.#dial = dial;
    this.#clock = clock;
  }

  override createConnection(
    _options: http.ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    dialled(this.#dial, (stream) => stream).then(
      (stream) => {
        stream.once('close', () => this.#idle.get(stream)?.abort());
        // One that comes too late fails its request; unused, it would stay open.
        if (this.#closed) stream.destroy();
        callback?.(null, asSocket(stream));
      },
      (error: unknown) => callback?.(error as EmergentError, undefined as never),
    );
  }

  override destroy(): void {
    this.#closed = true;
    super.destroy();
  }

  override keepSocketAlive(stream: Duplex): boolean {
    if (this.#closed) return false;
    const used = new AbortController();
    this.#idle.set(stream, used);
    this.#clock.sleep(idleMs, used.signal).then(
      () => stream.destroy(),
      () => undefined,
    );
    return true;
  }

  override reuseSocket(stream: Duplex, request: http.ClientRequest): void {
    this.#idle.get(stream)?.abort();
    super.reuseSocket(stream, request);
  }
}

/** The agent refs what it uses again, as a socket; a stream without a handle has nothing to ref. */
function asSocket(stream: Duplex): Duplex {
  return Object.assign(stream, { ref: () => stream });
}
