import { Duplex } from 'node:stream';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import { withDeadline } from '../../base/deadline.ts';
import { EmergentError } from '../../domain/errors.ts';
import { toEmergentError, unlessOlder } from './errors.ts';
import { Agent } from './gen/emergent/agent/v1/agent_pb.ts';
import type { TunnelResponse } from './gen/emergent/agent/v1/agent_pb.ts';
import { TunnelMessages } from './tunnel-messages.ts';

/** Longer than the agent tries. */
const dialMs = 15_000;
/** What may be on its way in one direction; the protocol says so. */
const windowBytes = 64 * 1024;

type Answers = AsyncIterator<TunnelResponse>;

/**
 * A connection to a port in the sandbox, as a request of the session: opening one costs one round trip and no dial.
 * `signal` bounds the opening only.
 */
export async function openTunnel(
  transport: Transport,
  port: number,
  signal: AbortSignal,
): Promise<Duplex> {
  const doing = `connecting to port ${String(port)} of the sandbox`;
  const open = new AbortController();
  const messages = new TunnelMessages();
  messages.put({ case: 'open', value: { port } });
  const options = { signal: open.signal };
  const answers = createClient(Agent, transport)
    .tunnel(messages.all(), options)
    [Symbol.asyncIterator]();
  try {
    const first = await withDeadline(doing, dialMs, () => answers.next(), signal);
    if (first.done !== true && first.value.message.case === 'opened') {
      return new Tunnel(messages, answers, open);
    }
    throw new EmergentError('sandbox_unreachable', `${doing}: the agent did not confirm it`);
  } catch (error) {
    open.abort();
    if (signal.aborted) throw signal.reason;
    throw refusal(error, doing);
  }
}

function refusal(error: unknown, doing: string): Error {
  if (!(error instanceof ConnectError)) return toEmergentError(error, doing);
  if (error.code === Code.FailedPrecondition) {
    return new EmergentError('port_closed', error.rawMessage, { cause: error });
  }
  return toEmergentError(unlessOlder(error), doing);
}

/**
 * Both directions are bounded by what the other side has taken, so a slow reader on either end holds back its own
 * tunnel and no other request of the session. When both sides have ended it closes by itself, not before the port has
 * been given all that was written.
 */
class Tunnel extends Duplex {
  readonly #messages: TunnelMessages;
  readonly #open: AbortController;
  /** How much more may be sent. */
  #credit = windowBytes;
  /** Goes on when there is credit again. */
  #onCredit: (() => void) | undefined;
  /** What came and was not yet told to be taken. */
  #untold = 0;
  /** The port has no more to say. */
  #portEnded = false;

  constructor(messages: TunnelMessages, answers: Answers, open: AbortController) {
    super({ allowHalfOpen: true, autoDestroy: false, readableHighWaterMark: windowBytes });
    this.#messages = messages;
    this.#open = open;
    // Whoever uses it is told by its own listeners; an error that comes before or after must not be an uncaught one.
    this.on('error', () => undefined);
    void this.#receive(answers);
  }

  override _write(chunk: Buffer, encoding: string, done: (error?: Error | null) => void): void {
    const part = chunk.subarray(0, this.#credit);
    const rest = chunk.subarray(part.length);
    this.#credit -= part.length;
    const goOn = (): void => {
      this._write(rest, encoding, done);
    };
    const last = rest.length === 0;
    if (!last) this.#onCredit = goOn;
    if (part.length > 0) this.#messages.put({ case: 'data', value: part }, last ? done : undefined);
    else if (last) done();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#messages.put({ case: 'end', value: {} }, done);
  }

  /** Called when what came has been read: from then on more is welcome. */
  override _read(): void {
    if (this.#untold < windowBytes / 2) return;
    this.#messages.put({ case: 'taken', value: this.#untold });
    this.#untold = 0;
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#messages.end();
    this.#open.abort();
    done(error);
  }

  async #receive(answers: Answers): Promise<void> {
    try {
      for (;;) {
        const next = await answers.next();
        if (next.done === true) break;
        this.#take(next.value);
      }
      if (!this.#portEnded) {
        throw new EmergentError('sandbox_unreachable', 'the sandbox went away');
      }
      if (this.readableEnded) this.destroy();
      else this.once('end', () => this.destroy());
    } catch (error) {
      this.destroy(brokenOff(error));
    }
  }

  #take({ message }: TunnelResponse): void {
    // A kind that a later version of the agent knows is left out.
    if (message.case === 'data') {
      this.#untold += message.value.length;
      if (this.push(message.value)) this._read();
    } else if (message.case === 'end') {
      this.#portEnded = true;
      this.push(null);
    } else if (message.case === 'taken') {
      this.#credit += message.value;
      const goOn = this.#onCredit;
      this.#onCredit = undefined;
      goOn?.();
    }
  }
}

function brokenOff(error: unknown): Error {
  const aborted = error instanceof ConnectError && error.code === Code.Aborted;
  if (!aborted) return toEmergentError(error, 'connected to a port of the sandbox');
  return new EmergentError('port_closed', error.rawMessage, {
    hint: 'The program that listens on the port broke the connection off; what it wrote may say why.',
    cause: error,
  });
}
