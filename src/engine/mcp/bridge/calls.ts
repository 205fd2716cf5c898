import { randomInt } from 'node:crypto';
import { abortReason } from '../../../base/clock.ts';
import type { Clock } from '../../../base/clock.ts';
import type { EmergentError } from '../../../domain/errors.ts';
import type { JsonRpcNotification, JsonRpcOutcome } from '../../../domain/json-rpc.ts';
import type { McpClient } from '../connection.ts';
import { bridgeBounds } from './bounds.ts';
import { failures } from './failures.ts';
import type { Posted } from './outbox.ts';
import { encode } from './outgoing.ts';
import { Timeout } from './timeout.ts';

/** What a call is made of; `message` is asked once, with the id that the program will see. */
export interface NewCall {
  readonly method: string;
  readonly message: (id: number) => Buffer;
  /** Null: a call on our own account, which nobody is asked about. */
  readonly client: McpClient | null;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | null;
  readonly onProgress: ((notification: JsonRpcNotification) => void) | null;
  /** It counts among those in flight, and waits for its turn. */
  readonly takesTurn: boolean;
  /** The program is told when nobody waits for the answer any more. */
  readonly cancellable: boolean;
}

/** A call from when it is made until it has ended: it waits for its turn, then it is in flight. */
export interface Call {
  readonly id: number;
  readonly method: string;
  readonly client: McpClient | null;
}

interface OpenCall extends Call {
  readonly bytes: Buffer;
  readonly takesTurn: boolean;
  readonly cancellable: boolean;
  readonly onProgress: ((notification: JsonRpcNotification) => void) | null;
  readonly timeout: Timeout;
  readonly settle: (outcome: JsonRpcOutcome | Error) => void;
  posted: Posted | null;
}

export interface CallsOptions {
  readonly maxInFlight: number;
  readonly clock: Clock;
  readonly post: (bytes: Buffer, onFailed: (error: EmergentError) => void) => Posted | null;
  /** The notification that takes a call back. */
  readonly cancellation: (id: number, reason: string) => JsonRpcNotification;
  /** It was in flight and is no more. */
  readonly onEnded: (call: Call) => void;
}

/**
 * The calls of all clients, each under an id of its own. Ids are numbers below 2^31 that begin anywhere: programs exist
 * that take no strings, or lose the end of long numbers, and an answer to a call of an earlier server of ours must not
 * meet one of ours.
 */
export class Calls {
  readonly #options: CallsOptions;
  readonly #waiting = new Set<OpenCall>();
  readonly #inFlight = new Map<number, OpenCall>();
  #nextId = randomInt(1, 2 ** 30);
  #turns: number;
  #waitingBytes = 0;
  #closed: EmergentError | null = null;

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#turns = options.maxInFlight;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Those that were given to the program, our own included. */
  get inFlight(): Iterable<Call> {
    return this.#inFlight.values();
  }

  /** How many of them have taken a turn. */
  get turnsTaken(): number {
    return this.#options.maxInFlight - this.#turns;
  }

  newId(): number {
    return this.#nextId++;
  }

  start(call: NewCall): Promise<JsonRpcOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<JsonRpcOutcome>();
    const refusal = this.#refusal(call);
    if (refusal) return Promise.reject(refusal);
    const id = this.newId();
    const bytes = call.message(id);
    const full = call.takesTurn ? this.#refusalToWait(bytes.length) : null;
    if (full) return Promise.reject(full);
    const { signal, timeoutMs } = call;
    const onAbort = (): void => {
      this.#giveUp(open, abortReason(signal ?? undefined), 'the client has cancelled it');
    };
    const open: OpenCall = {
      ...call,
      id,
      bytes,
      posted: null,
      timeout: new Timeout(
        this.#options.clock,
        timeoutMs,
        () => {
          const begun = this.#inFlight.has(id);
          this.#giveUp(open, failures.tooLate(call.method, timeoutMs, begun), 'it took too long');
        },
        timeoutMs * bridgeBounds.timeoutsPerCall,
      ),
      settle: (outcome) => {
        open.timeout[Symbol.dispose]();
        signal?.removeEventListener('abort', onAbort);
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      },
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    if (!call.takesTurn) this.#send(open);
    else if (this.#turns > 0) this.#takeTurn(open);
    else this.#wait(open);
    return promise;
  }

  /** False: nobody waits for this one. */
  answer(id: number, outcome: JsonRpcOutcome | EmergentError): boolean {
    const call = this.#inFlight.get(id);
    if (!call) return false;
    this.#end(call, outcome);
    return true;
  }

  /** Starts the call's timeout anew and answers with who wants to know. */
  progressed(id: number): ((notification: JsonRpcNotification) => void) | null {
    const call = this.#inFlight.get(id);
    call?.timeout.renew();
    return call?.onProgress ?? null;
  }

  close(why: EmergentError): void {
    this.#closed = why;
    for (const call of this.#waiting) {
      this.#unqueue(call);
      call.settle(why);
    }
    for (const call of this.#inFlight.values()) this.#end(call, why);
  }

  #refusal({ signal }: NewCall): Error | null {
    return this.#closed ?? (signal?.aborted ? abortReason(signal) : null);
  }

  #refusalToWait(bytes: number): EmergentError | null {
    if (this.#turns > 0) return null;
    const { waitingCalls, waitingBytes } = bridgeBounds;
    const full = this.#waiting.size >= waitingCalls || this.#waitingBytes + bytes > waitingBytes;
    return full ? failures.busy(this.#waiting.size) : null;
  }

  #wait(call: OpenCall): void {
    this.#waiting.add(call);
    this.#waitingBytes += call.bytes.length;
  }

  #unqueue(call: OpenCall): boolean {
    const waited = this.#waiting.delete(call);
    if (waited) this.#waitingBytes -= call.bytes.length;
    return waited;
  }

  #takeTurn(call: OpenCall): void {
    this.#turns -= 1;
    this.#send(call);
  }

  #send(call: OpenCall): void {
    this.#inFlight.set(call.id, call);
    call.posted = this.#options.post(call.bytes, (error) => {
      if (this.#inFlight.has(call.id)) this.#end(call, error);
    });
    if (!call.posted) this.#end(call, failures.doesNotRead());
  }

  #giveUp(call: OpenCall, why: Error, reason: string): void {
    if (this.#unqueue(call)) {
      call.settle(why);
      return;
    }
    if (!this.#inFlight.has(call.id)) return;
    const reached = call.posted?.withdraw() === false;
    this.#end(call, why);
    if (!reached || !call.cancellable) return;
    const notification = this.#options.cancellation(call.id, reason);
    this.#options.post(encode.notification(notification), () => undefined);
  }

  /** Whoever waits longest gets the turn directly, so that nobody can come in between. */
  #end(call: OpenCall, outcome: JsonRpcOutcome | Error): void {
    this.#inFlight.delete(call.id);
    call.settle(outcome);
    this.#options.onEnded(call);
    if (!call.takesTurn) return;
    this.#turns += 1;
    const [next] = this.#waiting;
    if (!next) return;
    this.#unqueue(next);
    this.#takeTurn(next);
  }
}
