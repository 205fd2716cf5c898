import http from 'node:http';
import type { Duplex } from 'node:stream';
import { abortReason } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import type { EmergentError } from '../../domain/errors.ts';
import { dialled } from './dial.ts';
import { toEmergentError } from './errors.ts';
import { sendBody } from './http.ts';
import type { GuestResponse, GuestSend } from './http.ts';
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
  readonly #token: string;
  #transfers = 0;

  constructor(link: GuestLink, options: GuestLinkOptions) {
    this.#agent = new BulkAgent(options);
    this.#link = link;
    this.#token = options.token;
  }

  get available(): boolean {
    return this.#transfers < maxTransfers;
  }

  /** A stream is open and unused: a request on it costs no more than one on the session, whatever its size. */
  get idle(): boolean {
    return this.available && Object.values(this.#agent.freeSockets).some((free) => free?.length);
  }

  /** As `GuestSend` says. */
  readonly send: GuestSend = ({ method, path, headers, body, signal }) => {
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    const { promise, resolve, reject } = Promise.withResolvers<GuestResponse>();
    this.#transfers++;
    const request = http.request({
      agent: this.#agent,
      method,
      path,
      headers: { ...headers, host: 'agent', 'x-access-token': this.#token },
      ...(signal && { signal }),
    });
    request.once('close', () => this.#transfers--);
    request.once('response', (response) => {
      // A refused upload leaves a stream on which nobody can tell where the next request begins.
      if (response.statusCode !== 200) response.once('close', () => request.destroy());
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: response });
    });
    request.on('error', (error) => {
      reject(toEmergentError(error, 'moving a file'));
    });
    this.#link.guard(request).catch((error: unknown) => {
      request.destroy(toEmergentError(error, 'moving a file'));
    });
    if (body) void sendBody(body, request);
    else request.end();
    return promise;
  };

  close(): void {
    this.#agent.destroy();
  }
}

/** Dials for new connections, and lets go of those that were idle for a while. */
class BulkAgent extends http.Agent {
  readonly #dial: GuestLinkOptions['dial'];
  readonly #clock: Clock;
  readonly #idle = new WeakMap<Duplex, AbortController>();

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
        callback?.(null, asSocket(stream));
      },
      (error: unknown) => callback?.(error as EmergentError, undefined as never),
    );
  }

  override keepSocketAlive(stream: Duplex): boolean {
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
