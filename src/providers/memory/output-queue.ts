import { EmergentError } from '../../domain/errors.ts';
import type { ExecEvent } from '../../domain/exec.ts';

const limitBytes = 1024 * 1024;

/**
 * What a command has written and nobody has read yet. It is read once; while it is full the command's output
 * is left in its pipes, which holds the command back. Once its reader leaves, it keeps nothing.
 */
export class OutputQueue {
  readonly #events: ExecEvent[] = [];
  readonly #onSpace: () => void;
  #bytes = 0;
  #taken = false;
  #abandoned = false;
  #changed = Promise.withResolvers<void>();

  constructor(onSpace: () => void) {
    this.#onSpace = onSpace;
  }

  get full(): boolean {
    return !this.#abandoned && this.#bytes >= limitBytes;
  }

  push(event: ExecEvent): void {
    if (this.#abandoned) return;
    this.#events.push(event);
    if (event.type !== 'exit') this.#bytes += event.data.length;
    this.#notify();
  }

  /** Resolves when the reader has made room. */
  async space(): Promise<void> {
    while (this.full) await this.#changed.promise;
  }

  async *read(): AsyncGenerator<ExecEvent> {
    if (this.#taken) throw new EmergentError('wrong_state', 'the output was read before');
    this.#taken = true;
    try {
      for (;;) {
        const event = this.#events.shift();
        if (event === undefined) {
          await this.#changed.promise;
          continue;
        }
        if (event.type !== 'exit') this.#release(event.data.length);
        yield event;
        if (event.type === 'exit') return;
      }
    } finally {
      this.abandon();
    }
  }

  /** Nobody reads it any more, or nobody ever will. */
  abandon(): void {
    this.#taken = true;
    this.#abandoned = true;
    this.#events.length = 0;
    this.#release(this.#bytes);
  }

  #release(bytes: number): void {
    this.#bytes -= bytes;
    if (this.full) return;
    this.#notify();
    this.#onSpace();
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}
