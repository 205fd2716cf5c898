import type { McpServer } from '@modelcontextprotocol/server';
import type { Caller } from '../../domain/caller.ts';
import type { JsonRpcId } from '../../domain/json-rpc.ts';

/** Whose calls: sessions are told apart within a token, so that none reaches into another's. */
export interface SessionOwner {
  readonly caller: Caller;
  readonly session: string;
}

/**
 * The calls of clients of the 2025 revisions, which cancel one by a message of its own. That message comes with another
 * request, and the session's id is all that the two have in common. Nothing else is kept of a session, so there is
 * nothing that a restart of the server could lose.
 */
export class RunningCalls {
  readonly #sessions = new Map<string, Map<JsonRpcId, McpServer>>();

  /** Until disposed, `server` answers the call. */
  add(owner: SessionOwner, id: JsonRpcId, server: McpServer): Disposable {
    const key = keyOf(owner);
    const calls = this.#sessions.get(key) ?? new Map<JsonRpcId, McpServer>();
    this.#sessions.set(key, calls.set(id, server));
    return {
      [Symbol.dispose]: () => {
        if (calls.get(id) === server) calls.delete(id);
        if (calls.size === 0 && this.#sessions.get(key) === calls) this.#sessions.delete(key);
      },
    };
  }

  /** Ends a call, and the stream on which its answer would have come. One that is over is left alone. */
  async cancel(owner: SessionOwner, id: JsonRpcId): Promise<void> {
    await this.#sessions.get(keyOf(owner))?.get(id)?.close();
  }

  /** Ends all that a session has running. */
  async end(owner: SessionOwner): Promise<void> {
    const calls = this.#sessions.get(keyOf(owner))?.values() ?? [];
    await Promise.all([...calls].map((server) => server.close()));
  }
}

function keyOf({ caller, session }: SessionOwner): string {
  return `${caller.tokenId} ${session}`;
}
