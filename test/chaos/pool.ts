import { describe, json } from './api-client.ts';
import type { ApiClient } from './api-client.ts';

export interface PoolState {
  readonly name: string;
  readonly size: number;
  readonly ready: number;
  readonly creating: number;
  readonly state: string;
  readonly reason: string | null;
}

/** What `GET /pool` answers. */
export interface PoolAnswer {
  readonly pools: readonly PoolState[];
  readonly hits: Readonly<Record<string, number>>;
  readonly misses: Readonly<Record<string, number>>;
}

/** The default pool of a server, through its API. */
export class Pool {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  async answer(): Promise<PoolAnswer> {
    return this.#ask('GET');
  }

  async state(): Promise<PoolState> {
    const found = (await this.answer()).pools.find(({ name }) => name === 'default');
    if (!found) throw new Error('the server has no default pool');
    return found;
  }

  async resize(size: number): Promise<void> {
    await this.#ask('PATCH', { size });
  }

  async hits(): Promise<number> {
    return (await this.answer()).hits['default'] ?? 0;
  }

  async isFull(): Promise<boolean> {
    const { size, ready, creating } = await this.state();
    return ready === size && creating === 0;
  }

  async #ask(method: string, body?: unknown): Promise<PoolAnswer> {
    const reply = await this.#api.send(method, '/pool', body);
    if (reply.outcome !== 'acknowledged') throw new Error(`${method} /pool: ${describe(reply)}`);
    return json(reply) as PoolAnswer;
  }
}
