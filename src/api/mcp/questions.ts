import { randomUUID } from 'node:crypto';
import { untilAborted } from '../../base/until-aborted.ts';
import type {
  JsonObject,
  JsonRpcError,
  JsonRpcOutcome,
  JsonRpcRequest,
} from '../../domain/json-rpc.ts';

/** A message to the client, and whether it could be sent. */
export type SendQuestion = (message: JsonObject) => boolean;

/** What a program has asked a client and was not answered yet. */
export class Questions {
  readonly #open = new Map<string, (outcome: JsonRpcOutcome) => void>();

  /** Rejects with the signal's reason when the program takes the question back; the client is told. */
  async ask(
    question: JsonRpcRequest,
    signal: AbortSignal,
    send: SendQuestion,
  ): Promise<JsonRpcOutcome> {
    const id = `emergent-${randomUUID()}`;
    const { promise, resolve } = Promise.withResolvers<JsonRpcOutcome>();
    this.#open.set(id, resolve);
    try {
      if (!send({ jsonrpc: '2.0', id, ...question })) return { error: notListening };
      return await untilAborted(promise, signal);
    } catch (error) {
      const params = { requestId: id, reason: 'the server no longer needs the answer' };
      send({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
      throw error;
    } finally {
      this.#open.delete(id);
    }
  }

  /** An answer to something that nobody asked, or no longer, is dropped. */
  answered(id: unknown, outcome: JsonRpcOutcome): void {
    if (typeof id === 'string') this.#open.get(id)?.(outcome);
  }

  /** Nobody is left to answer. */
  dismiss(): void {
    for (const answer of this.#open.values()) answer({ error: notListening });
  }
}

const notListening: JsonRpcError = { code: -32_000, message: 'the client is not listening' };
