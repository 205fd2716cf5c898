import type { ExecEvent, ExecProcess, ProcessSignal } from '../../../../src/domain/exec.ts';

/** A command whose output, end and reaction to signals the test decides. */
export class FakeProcess implements ExecProcess {
  readonly pid: number;
  readonly events: AsyncIterable<ExecEvent>;
  /** The signals that came, in order. */
  readonly signals: ProcessSignal[] = [];
  /** What happens when a signal comes; by default nothing. */
  onSignal: (signal: ProcessSignal) => void | Promise<void> = () => undefined;
  /** The graces that it was given to end, in order. */
  readonly ends: number[] = [];
  /** What happens when it is ended; by default nothing. */
  onEnd: (graceMs: number) => void | Promise<void> = () => undefined;
  readonly #queue: (ExecEvent | Error)[] = [];
  #wake: (() => void) | undefined;

  constructor(pid = 42) {
    this.pid = pid;
    this.events = this.#read();
  }

  print(text: string, type: 'stdout' | 'stderr' = 'stdout'): void {
    this.#put({ type, data: Buffer.from(text) });
  }

  exit(exitCode: number, signal: string | null = null, background?: true): void {
    this.#put({ type: 'exit', exitCode, signal, ...(background && { background }) });
  }

  /** The link to the sandbox is lost for good. */
  lose(error: Error): void {
    this.#put(error);
  }

  async kill(signal: ProcessSignal): Promise<void> {
    this.signals.push(signal);
    await this.onSignal(signal);
  }

  async end(graceMs: number): Promise<void> {
    this.ends.push(graceMs);
    await this.onEnd(graceMs);
  }

  async writeStdin(): Promise<void> {
    throw new Error('no standard input');
  }

  async closeStdin(): Promise<void> {
    throw new Error('no standard input');
  }

  #put(event: ExecEvent | Error): void {
    this.#queue.push(event);
    this.#wake?.();
  }

  async *#read(): AsyncGenerator<ExecEvent> {
    for (;;) {
      const next = this.#queue.shift();
      if (!next) {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        await promise;
        continue;
      }
      if (next instanceof Error) throw next;
      yield next;
      if (next.type === 'exit') return;
    }
  }
}
