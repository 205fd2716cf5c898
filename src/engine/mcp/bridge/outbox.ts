import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import { reasonOf } from '../../../base/reason.ts';
import type { EmergentError } from '../../../domain/errors.ts';
import { bridgeBounds } from './bounds.ts';
import { failures } from './failures.ts';
import { Timeout } from './timeout.ts';

export interface OutboxOptions {
  readonly write: (data: Uint8Array, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A message that was given to the outbox. */
export interface Posted {
  /** Takes it back; false: it is too late, the program has it or is getting it. */
  withdraw(): boolean;
}

interface Message {
  readonly bytes: Buffer;
  readonly onFailed: (error: EmergentError) => void;
}

const lineEnd = Buffer.from('\n');

/**
 * What is on its way to the program's standard input: in order, one write at a time, several messages in one write where
 * they have waited. A program that does not read holds nobody up: what waits is bounded, and so is each write's time.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #queue = new Set<Message>();
  #queuedBytes = 0;
  #writing = false;
  /** Ends the write that is under way. */
  #giveUp: ((why: EmergentError) => void) | null = null;
  #closed = false;
  /** The last write failed, perhaps in the middle of a line. */
  #torn = false;
  #full = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Null: there is no room, since the program does not read. */
  post(bytes: Buffer, onFailed: (error: EmergentError) => void): Posted | null {
    if (this.#closed || !this.#hasRoomFor(bytes)) return null;
    const message: Message = { bytes, onFailed };
    this.#queue.add(message);
    this.#queuedBytes += bytes.length;
    void this.#pump();
    return {
      withdraw: () => {
        const waited = this.#queue.delete(message);
        if (waited) this.#queuedBytes -= bytes.length;
        return waited;
      },
    };
  }

  close(why: EmergentError): void {
    this.#closed = true;
    this.#queue.clear();
    this.#queuedBytes = 0;
    this.#giveUp?.(why);
  }

  #hasRoomFor(bytes: Buffer): boolean {
    const full = this.#queuedBytes + bytes.length > bridgeBounds.queuedBytes;
    if (full && !this.#full) this.#options.log.warn('the MCP server does not read its input');
    this.#full = full;
    return !full;
  }

  async #pump(): Promise<void> {
    if (this.#writing) return;
    this.#writing = true;
    while (this.#queue.size > 0) await this.#write(this.#take());
    this.#writing = false;
  }

  /** The next messages, as many as go into one write; a large one goes alone. */
  #take(): readonly Message[] {
    const taken: Message[] = [];
    let size = 0;
    for (const message of this.#queue) {
      if (taken.length > 0 && size + message.bytes.length > bridgeBounds.batchBytes) break;
      this.#queue.delete(message);
      taken.push(message);
      size += message.bytes.length;
    }
    this.#queuedBytes -= size;
    return taken;
  }

  /** Waits for the write to end even after its deadline, so that there are never two at once. Never rejects. */
  async #write(messages: readonly Message[]): Promise<void> {
    const abort = new AbortController();
    const giveUp = (error: EmergentError): void => {
      for (const { onFailed } of messages) onFailed(error);
      abort.abort(error);
    };
    using _ = new Timeout(this.#options.clock, bridgeBounds.writeTimeoutMs, () => {
      giveUp(failures.notRead());
    });
    this.#giveUp = giveUp;
    try {
      await this.#options.write(this.#joined(messages), abort.signal);
      this.#torn = false;
    } catch (error) {
      this.#torn = true;
      if (!abort.signal.aborted) giveUp(failures.notWritten(reasonOf(error), error));
    } finally {
      this.#giveUp = null;
    }
  }

  /** After a torn line the first thing is a line end: what the program has of that line is then no message. */
  #joined(messages: readonly Message[]): Buffer {
    const parts = messages.map(({ bytes }) => bytes);
    if (this.#torn) parts.unshift(lineEnd);
    const [first] = parts;
    return first && parts.length === 1 ? first : Buffer.concat(parts);
  }
}
