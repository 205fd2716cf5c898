import type { Log } from '../../../base/log.ts';
import { reasonOf } from '../../../base/reason.ts';
import { jsonRpcErrors } from '../../../domain/json-rpc.ts';
import type {
  JsonRpcError,
  JsonRpcId,
  JsonRpcOutcome,
  JsonRpcRequest,
} from '../../../domain/json-rpc.ts';
import { bridgeBounds } from './bounds.ts';
import type { Call } from './calls.ts';
import { progressTokenOf } from './envelope.ts';
import { encode } from './outgoing.ts';
import { whoIsAsked } from './who-is-asked.ts';

interface Question {
  readonly id: JsonRpcId;
  readonly clientId: string;
  readonly progressToken: JsonRpcId | null;
  /** The calls that it may be about; it ends with the last of them. */
  readonly calls: Set<Call>;
  readonly abort: AbortController;
}

export interface QuestionsOptions {
  readonly inFlight: () => Iterable<Call>;
  readonly post: (bytes: Buffer) => void;
  readonly log: Log;
}

/** What the program asks: each question is answered exactly once, unless the program has taken it back. */
export class Questions {
  readonly #options: QuestionsOptions;
  readonly #open = new Map<JsonRpcId, Question>();

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  ask(id: JsonRpcId, request: JsonRpcRequest): void {
    if (request.method === 'ping') {
      this.#answer(id, { result: {} });
      return;
    }
    const refusal = this.#refusal(id);
    const asked = refusal ? { error: refusal } : whoIsAsked(request, this.#options.inFlight());
    if ('error' in asked) {
      this.#answer(id, asked);
      return;
    }
    const question: Question = {
      id,
      clientId: asked.client.id,
      progressToken: progressTokenOf(request),
      calls: new Set(asked.calls),
      abort: new AbortController(),
    };
    this.#open.set(id, question);
    const { client } = asked;
    // Through a promise, so that a client that throws at once is one whose answer fails.
    Promise.resolve()
      .then(() => client.request(request, question.abort.signal))
      .then(
        (outcome) => {
          this.#end(question, outcome);
        },
        (error: unknown) => {
          this.#options.log.debug('a client did not answer an MCP server', { err: error });
          this.#end(question, failure(`${request.method}: the client did not answer`));
        },
      );
  }

  /** The program does not want to know any more, and gets no answer. */
  takeBack(id: JsonRpcId): void {
    const question = this.#open.get(id);
    this.#open.delete(id);
    question?.abort.abort(new Error('the MCP server has taken its question back'));
  }

  callEnded(call: Call): void {
    for (const question of this.#open.values()) {
      if (!question.calls.delete(call) || question.calls.size > 0) continue;
      this.#end(question, failure('the call that this was about has ended'));
      question.abort.abort(new Error('the call has ended that the MCP server asked about'));
    }
  }

  /** Whether the program has given this client this token, to hear of progress under. */
  hasGivenToken(clientId: string, token: JsonRpcId): boolean {
    return this.#open
      .values()
      .some((open) => open.clientId === clientId && open.progressToken === token);
  }

  close(): void {
    for (const id of this.#open.keys()) this.takeBack(id);
  }

  #refusal(id: JsonRpcId): JsonRpcError | null {
    if (this.#open.has(id)) {
      return {
        code: jsonRpcErrors.invalidRequest,
        message: 'a request of this id is open already',
      };
    }
    if (this.#open.size < bridgeBounds.openQuestions) return null;
    return { code: jsonRpcErrors.internal, message: 'too many requests of this server are open' };
  }

  #end(question: Question, outcome: JsonRpcOutcome): void {
    if (this.#open.get(question.id) !== question) return;
    this.#open.delete(question.id);
    this.#answer(question.id, outcome);
  }

  #answer(id: JsonRpcId, outcome: JsonRpcOutcome): void {
    this.#options.post(encoded(id, outcome));
  }
}

/** The answer comes from a client: one that cannot be passed on is a failure of that client. */
function encoded(id: JsonRpcId, outcome: JsonRpcOutcome): Buffer {
  try {
    return encode.answer(id, outcome);
  } catch (error) {
    return encode.answer(
      id,
      failure(`the client's answer cannot be passed on: ${reasonOf(error)}`),
    );
  }
}

function failure(message: string): JsonRpcOutcome {
  return { error: { code: jsonRpcErrors.internal, message } };
}
