import { DeadlineError } from '../base/deadline.ts';
import { EmergentError } from '../domain/errors.ts';
import type { ToolCall } from '../domain/events.ts';
import type { SandboxRef, WorkspaceProvider } from '../domain/provider.ts';
import type { Workspace } from '../domain/workspace.ts';
import type { Operations } from './operations.ts';

/** What an operation works on. */
export interface Target {
  readonly workspace: Workspace;
  readonly provider: WorkspaceProvider;
  readonly ref: SandboxRef;
}

export type Outcome = Pick<ToolCall['detail'], 'exit_code' | 'process_id'>;

/** One operation, from the first byte to the last. It ends once, with `succeeded` or `failed`. */
export class Operation {
  readonly target: Target;
  readonly #end: () => void;
  readonly #operations: Operations;
  readonly #record: (result: string, outcome: Outcome) => Promise<void>;
  #ended = false;

  constructor(
    target: Target,
    end: () => void,
    operations: Operations,
    record: (result: string, outcome: Outcome) => Promise<void>,
  ) {
    this.target = target;
    this.#end = end;
    this.#operations = operations;
    this.#record = record;
  }

  async succeeded(outcome: Outcome = {}): Promise<void> {
    await this.#finish('ok', outcome);
  }

  /** Answers with what to tell the caller. */
  async failed(error: unknown, outcome: Outcome = {}): Promise<unknown> {
    const told = await this.#operations.explain(this.target.workspace.id, error);
    await this.#finish(codeOf(told), outcome);
    return told;
  }

  /**
   * Yields what `source` yields and ends the operation with it. A reader that leaves ends it too, as does
   * `signal`, which is all that tells of a reader that never began.
   */
  around<T>(
    source: AsyncIterable<T>,
    signal?: AbortSignal,
    outcome: () => Outcome = () => ({}),
  ): AsyncIterable<T> {
    const left = (): void => {
      void this.failed(readerLeft, outcome());
    };
    signal?.addEventListener('abort', left, { once: true });
    return this.#through(source, outcome, () => signal?.removeEventListener('abort', left));
  }

  async *#through<T>(
    source: AsyncIterable<T>,
    outcome: () => Outcome,
    ended: () => void,
  ): AsyncGenerator<T> {
    try {
      yield* source;
      await this.succeeded(outcome());
    } catch (error) {
      throw await this.failed(error, outcome());
    } finally {
      ended();
      await this.failed(readerLeft, outcome());
    }
  }

  async #finish(result: string, outcome: Outcome): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    try {
      await this.#record(result, outcome);
    } finally {
      this.#end();
    }
  }
}

const readerLeft = new EmergentError('client_closed', 'the reader left before the end');

function codeOf(error: unknown): string {
  if (error instanceof EmergentError) return error.code;
  return error instanceof DeadlineError ? 'deadline_exceeded' : 'internal';
}
