import http2 from 'node:http2';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import { startLoop } from '../../base/loop.ts';
import { EmergentError } from '../../domain/errors.ts';
import { dialled } from './dial.ts';
import type { Dial } from './dial.ts';

export interface GuestLinkOptions {
  readonly dial: Dial;
  /** Sent with every request; the agent knows only its hash. */
  readonly token: string;
  readonly clock: Clock;
  /** Called before a request: resolves when the sandbox can take it, and is told by the answer that it is over. */
  readonly wake?: () => Promise<() => void>;
  /** Hears that an open session has ended without being closed. */
  readonly onLost?: () => void;
}

const heartbeatEveryMs = 10_000;
const pingDeadlineMs = 10_000;
const streamEnded = 'the stream to the sandbox agent ended';
const MiB = 2 ** 20;

/** Anything whose life depends on the agent's. */
export interface GuardedStream {
  readonly closed: boolean;
  once(event: 'close', listener: () => void): unknown;
  destroy(error: Error): unknown;
}

/** An open session and what it runs on. */
interface Connection {
  readonly session: http2.ClientHttp2Session;
  readonly stream: Duplex;
  /** Those that end with the session. */
  readonly guarded: Set<GuardedStream>;
  /** How many requests are open. */
  requests: number;
  heartbeat: Disposable | undefined;
}

/**
 * One HTTP/2 session to the agent of one sandbox, over whatever stream the provider dials. Requests share
 * it; when it breaks, the next request dials again. What runs in the sandbox does not depend on it.
 *
 * States: idle (no session) -> dialling (shared by all callers) -> open -> idle when the stream ends.
 * `close` is final.
 */
export class GuestLink {
  readonly #options: GuestLinkOptions;
  readonly #onOpened: () => void;
  #connection: Promise<Connection> | undefined;
  #closed = false;

  /** `onOpened` is called whenever a session has been opened. */
  constructor(options: GuestLinkOptions, onOpened: () => void = () => undefined) {
    this.#options = options;
    this.#onOpened = onOpened;
  }

  /** Starts a request on the shared session. The caller owns the returned stream. */
  async request(
    headers: http2.OutgoingHttpHeaders,
    options: http2.ClientSessionRequestOptions = {},
  ): Promise<http2.ClientHttp2Stream> {
    const over = await this.#wake();
    try {
      const stream = await this.look(headers, options);
      stream.once('close', over);
      return stream;
    } catch (error) {
      over();
      throw error;
    }
  }

  /** The same for a request that only looks at the sandbox: it neither wakes it nor keeps it awake. */
  async look(
    headers: http2.OutgoingHttpHeaders,
    options: http2.ClientSessionRequestOptions = {},
  ): Promise<http2.ClientHttp2Stream> {
    const connection = await this.#usable();
    const stream = connection.session.request(
      { ...headers, 'x-access-token': this.#options.token },
      options,
    );
    this.#watch(connection, stream);
    return stream;
  }

  /**
   * The same for a request that waits for what may never come: it opens no session, and as it is nothing that a
   * caller waits for, the session is not pinged for its sake.
   */
  async requestIfOpen(
    headers: http2.OutgoingHttpHeaders,
    options: http2.ClientSessionRequestOptions = {},
  ): Promise<http2.ClientHttp2Stream> {
    const connection = await this.#connection;
    if (!connection || connection.session.closed || connection.stream.destroyed) {
      throw new EmergentError('sandbox_unreachable', 'there is no link to the sandbox');
    }
    return connection.session.request(
      { ...headers, 'x-access-token': this.#options.token },
      options,
    );
  }

  /** Resolves when the agent has answered on the session, which is opened if need be. */
  async reach(): Promise<void> {
    const over = await this.#wake();
    try {
      await ping(await this.#usable());
    } finally {
      over();
    }
  }

  /** Ends `stream`, which runs beside the session, when the agent no longer answers on the session. */
  async guard(stream: GuardedStream): Promise<void> {
    const connection = await this.#usable();
    // Given up meanwhile, it would be watched for ever.
    if (stream.closed) return;
    const { guarded } = connection;
    guarded.add(stream);
    stream.once('close', () => guarded.delete(stream));
    this.#watch(connection, stream);
  }

  close(): void {
    this.#closed = true;
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.then(hangUp, () => undefined);
  }

  async #wake(): Promise<() => void> {
    return (await this.#options.wake?.()) ?? (() => undefined);
  }

  /** Between its end and the event that tells of it, a session is still in our hands but takes no request. */
  async #usable(): Promise<Connection> {
    const opening = this.#open();
    const connection = await opening;
    if (!connection.session.closed && !connection.stream.destroyed) return connection;
    if (this.#connection === opening) this.#connection = undefined;
    return this.#open();
  }

  #open(): Promise<Connection> {
    // Not "unreachable": whoever tries again after a lost link need not try this.
    if (this.#closed) {
      return Promise.reject(new EmergentError('wrong_state', 'the sandbox was closed'));
    }
    this.#connection ??= this.#dial();
    return this.#connection;
  }

  /**
   * While a request is open its session is pinged: one that does not answer is hung up, which fails its
   * requests, so nothing waits for ever on a stream whose other end is gone. An idle session costs nothing.
   */
  #watch(connection: Connection, request: GuardedStream): void {
    connection.requests++;
    connection.heartbeat ??= startLoop(
      heartbeatEveryMs,
      () => withDeadline('ping of the sandbox agent', pingDeadlineMs, () => ping(connection)),
      this.#options.clock,
      () => {
        hangUp(connection);
      },
    );
    request.once('close', () => {
      connection.requests--;
      if (connection.requests > 0) return;
      connection.heartbeat?.[Symbol.dispose]();
      connection.heartbeat = undefined;
    });
  }

  #dial(): Promise<Connection> {
    const forget = (): void => {
      if (this.#connection === dialling) this.#connection = undefined;
    };
    const onClose = (): void => {
      forget();
      if (!this.#closed) this.#options.onLost?.();
    };
    const dialling = dialled(this.#options.dial, (stream, signal) =>
      connect(stream, signal, onClose),
    );
    dialling.then(this.#onOpened, forget);
    return dialling;
  }
}

async function connect(
  stream: Duplex,
  signal: AbortSignal,
  onClose: () => void,
): Promise<Connection> {
  // A session on a stream that has closed is never told so.
  if (stream.closed) throw stream.errored ?? new Error(streamEnded);
  // The default windows of 64 KB allow one window per round trip, some 11 MB/s over an exec'd stream.
  const session = http2.connect('http://agent', {
    createConnection: () => stream,
    settings: { initialWindowSize: 8 * MiB, maxFrameSize: MiB, enablePush: false },
    maxSessionMemory: 256,
  });
  const connection: Connection = {
    session,
    stream,
    guarded: new Set(),
    requests: 0,
    heartbeat: undefined,
  };
  session.once('close', () => {
    onClose();
    const lost = new EmergentError('sandbox_unreachable', 'the sandbox went away');
    for (const guarded of connection.guarded) guarded.destroy(lost);
  });
  const opened = Promise.withResolvers<undefined>();
  session.once('connect', () => {
    // Comes also when the first bytes have already ended the session, which takes no setting then.
    if (session.destroyed) return;
    session.setLocalWindowSize(16 * MiB);
    opened.resolve(undefined);
  });
  session.on('error', opened.reject);
  session.once('close', () => {
    opened.reject(new Error(streamEnded));
  });
  signal.addEventListener(
    'abort',
    () => {
      hangUp(connection);
    },
    { once: true },
  );
  await opened.promise;
  await ping(connection);
  return connection;
}

/**
 * Ends the session by ending what it runs on. Destroying the session itself would write a farewell, and while
 * an earlier write is stuck, as on a stream that hangs, Node fails an assertion over it.
 */
function hangUp({ stream }: Connection): void {
  stream.destroy();
}

function ping({ session }: Connection): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  session.ping((error) => {
    if (error) reject(error);
    else resolve(undefined);
  });
  return promise;
}
