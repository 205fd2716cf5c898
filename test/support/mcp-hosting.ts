import type { McpLogLine, McpServer, NewMcpServer } from '../../src/cli/http/mcp-types.ts';
import { systemClock } from '../../src/base/clock.ts';
import { withDeadline } from '../../src/base/deadline.ts';
import { eventsOf } from '../api/support/sse.ts';

/** A server of ours, of whatever kind; its address may change when it is started again. */
export interface Reach {
  readonly url: string;
  readonly token: string;
}

export interface McpEventBody {
  readonly id: number;
  readonly workspace_id: string;
  readonly actor: string;
  readonly type: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

type Arguments = Readonly<Record<string, unknown>>;

/** On a loaded machine everything takes ten times as long. */
const waitMs = 120_000;
const lookEveryMs = 100;

/** Of tests that host servers: longer than one wait for one of them. */
export const hostingTimeout = { timeout: 240_000 } as const;

/** Hosted MCP servers through the API, as an administrator has them; those that are left go when it is disposed of. */
export class McpHosting implements AsyncDisposable {
  readonly reach: Reach;

  constructor(reach: Reach) {
    this.reach = reach;
  }

  request(method: string, path: string, body?: unknown, token = this.reach.token) {
    return fetch(`${this.reach.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      signal: AbortSignal.timeout(waitMs),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  async register(body: NewMcpServer): Promise<McpServer> {
    return this.#json<McpServer>(201, 'POST', '', body);
  }

  async get(id: string): Promise<McpServer> {
    return this.#json<McpServer>(200, 'GET', `/${id}`);
  }

  async list(): Promise<readonly McpServer[]> {
    return (await this.#json<{ items: McpServer[] }>(200, 'GET', '')).items;
  }

  async change(id: string, change: 'start' | 'stop' | 'restart'): Promise<McpServer> {
    return this.#json<McpServer>(200, 'POST', `/${id}/${change}`, {});
  }

  async delete(id: string, keepVolumes = false): Promise<void> {
    await this.#json(200, 'DELETE', `/${id}${keepVolumes ? '?keep_volumes=true' : ''}`);
  }

  async logs(id: string, tail = 1000): Promise<readonly McpLogLine[]> {
    const path = `/${id}/logs?tail=${String(tail)}`;
    return (await this.#json<{ items: McpLogLine[] }>(200, 'GET', path)).items;
  }

  /** The JSON-RPC answer to one call. */
  async call(id: string, method: string, params: Arguments = {}): Promise<Arguments> {
    const body = { method, params, timeout_ms: waitMs };
    return this.#json<Arguments>(200, 'POST', `/${id}/call`, body);
  }

  /** The text that a tool answers with. */
  async tool(id: string, name: string, args: Arguments = {}): Promise<string> {
    const { result, error } = await this.call(id, 'tools/call', { name, arguments: args });
    if (result === undefined) throw new Error(`${name}: ${JSON.stringify(error)}`);
    return textOf(result);
  }

  /** A call of a tool after which the program is no longer there, or no longer answers: how it fails. */
  async fatal(id: string, name: string, args: Arguments = {}): Promise<string> {
    const body = { method: 'tools/call', params: { name, arguments: args }, timeout_ms: waitMs };
    const answer = await this.request('POST', `/mcp/servers/${id}/call`, body);
    const { error } = (await answer.json()) as { error?: { code: string } };
    return error?.code ?? 'no error';
  }

  /** The server as it is when this holds of it for the first time. */
  async until(id: string, what: string, holds: (server: McpServer) => boolean): Promise<McpServer> {
    let last: McpServer | undefined;
    try {
      return await withDeadline(what, waitMs, async (signal) => {
        for (;;) {
          // In a list, because what it uses is not measured for that, which takes half a second.
          last = (await this.list()).find((server) => server.id === id);
          if (last && holds(last)) return last;
          await systemClock.sleep(lookEveryMs, signal);
        }
      });
    } catch (error) {
      const seen = { status: last?.status, health: last?.health, last_exit: last?.last_exit };
      throw new Error(`not ${what}: ${JSON.stringify(seen)}`, { cause: error });
    }
  }

  async untilHealth(id: string, state: string): Promise<McpServer> {
    return this.until(id, state, ({ health }) => health.state === state);
  }

  /** Events from the beginning, as they come; whoever breaks off the loop ends it. */
  async *events(after = 0): AsyncGenerator<McpEventBody> {
    const ended = new AbortController();
    const response = await fetch(`${this.reach.url}/api/v1/events?after=${String(after)}`, {
      headers: { authorization: `Bearer ${this.reach.token}`, accept: 'text/event-stream' },
      signal: AbortSignal.any([ended.signal, AbortSignal.timeout(waitMs)]),
    });
    try {
      for await (const { event, data } of eventsOf(response)) {
        if (event !== 'comment') yield data as unknown as McpEventBody;
      }
    } finally {
      ended.abort();
    }
  }

  /** Waits for the next event of this type that the server has after another. */
  async event(id: string, type: string, after = 0): Promise<McpEventBody> {
    for await (const event of this.events(after)) {
      if (event.workspace_id === id && event.type === type) return event;
    }
    throw new Error(`the events ended before ${type}`);
  }

  async deleteAll(): Promise<void> {
    const servers = await this.list();
    await Promise.all(servers.map(({ id }) => this.delete(id)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.deleteAll();
  }

  async #json<T>(status: number, method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.request(method, `/mcp/servers${path}`, body);
    const text = await answer.text();
    if (answer.status !== status) {
      throw new Error(`${method} ${path}: ${String(answer.status)} ${text}`);
    }
    return JSON.parse(text) as T;
  }
}

/** What a tool's result says, its texts joined. */
export function textOf(result: unknown): string {
  const { content } = result as { content: { type: string; text?: string }[] };
  return content.map(({ text = '' }) => text).join('\n');
}
