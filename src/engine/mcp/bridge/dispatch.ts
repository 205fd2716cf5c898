import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import type { JsonRpcNotification, JsonRpcOutcome } from '../../../domain/json-rpc.ts';
import type { EmergentError } from '../../../domain/errors.ts';
import type { Calls } from './calls.ts';
import { failures } from './failures.ts';
import { isId, ownId } from './messages.ts';
import type { Incoming } from './messages.ts';
import type { News } from './news.ts';
import type { Questions } from './questions.ts';

export interface DispatchOptions {
  readonly calls: Calls;
  readonly questions: Questions;
  readonly news: News;
  readonly clock: Clock;
  readonly log: Log;
}

/** Brings each message of the program to those it concerns. */
export class Dispatch {
  readonly #options: DispatchOptions;
  #lateAnswers = 0;
  #lastHeardAt: Date | null = null;

  constructor(options: DispatchOptions) {
    this.#options = options;
  }

  get lateAnswers(): number {
    return this.#lateAnswers;
  }

  get lastHeardAt(): Date | null {
    return this.#lastHeardAt;
  }

  message(message: Incoming): void {
    this.#lastHeardAt = this.#options.clock.now();
    switch (message.kind) {
      case 'answer':
        this.#answer(ownId(message.id), message.outcome ?? failures.brokenAnswer());
        break;
      case 'request':
        this.#options.questions.ask(message.id, message.request);
        break;
      case 'notification':
        this.#notification(message.notification);
        break;
    }
  }

  /** Where nothing says which call it answers, it is the only one, or nobody knows. */
  tooLarge(id: number | null): void {
    const [first, second] = this.#options.calls.inFlight;
    const answered = id ?? (second ? undefined : first?.id);
    if (answered !== undefined) this.#answer(answered, failures.answerTooLarge());
  }

  #answer(id: number, outcome: JsonRpcOutcome | EmergentError): void {
    const { calls, news } = this.#options;
    if (!calls.answer(id, outcome) && !news.answered(id)) this.#lateAnswers += 1;
  }

  #notification(notification: JsonRpcNotification): void {
    const { method, params } = notification;
    if (method === 'notifications/progress') this.#progress(notification);
    else if (method === 'notifications/cancelled') {
      const id = params?.['requestId'];
      if (isId(id)) this.#options.questions.takeBack(id);
    } else this.#options.news.hear(notification);
  }

  #progress(notification: JsonRpcNotification): void {
    const onProgress = this.#options.calls.progressed(
      ownId(notification.params?.['progressToken']),
    );
    try {
      onProgress?.(notification);
    } catch (error) {
      this.#options.log.warn('a client could not be told of progress', { err: error });
    }
  }
}
