import { Failure } from '../failure.ts';
import { eventAnswer } from './event-answer.ts';
import type { EventData } from './event-data.ts';
import type {
  McpCall,
  McpKeptVolumes,
  McpLogLine,
  McpOutcome,
  McpServer,
  NewMcpServer,
} from './mcp-types.ts';
import type { Transport } from './transport.ts';

/** It may pull an image and wait for the program, each with a deadline of its own on the server. */
const startMs = 40 * 60_000;
/** A program has half a minute to end by itself. */
const stopMs = 120_000;
/** Behind the deadline of a call, the server has this long to say that it has passed. */
const graceMs = 30_000;

/** The part of the API about hosted MCP servers. Every `id` may be a name. */
export class McpClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async register(json: NewMcpServer, signal: AbortSignal): Promise<McpServer> {
    const call = { method: 'POST', path: servers, json, answerMs: startMs, signal } as const;
    return (await this.#transport.json(call)) as McpServer;
  }

  async list(): Promise<readonly McpServer[]> {
    const body = await this.#transport.json({ method: 'GET', path: servers });
    return (body as { items: readonly McpServer[] }).items;
  }

  async get(id: string): Promise<McpServer> {
    return (await this.#transport.json({ method: 'GET', path: server(id) })) as McpServer;
  }

  /** What was kept of it, if that was asked for and there was something. */
  async delete(id: string, keepVolumes: boolean): Promise<McpKeptVolumes | null> {
    const deleted = await this.#transport.json({
      method: 'DELETE',
      path: server(id),
      ...(keepVolumes && { query: { keep_volumes: 'true' } }),
      answerMs: stopMs,
    });
    return (deleted as { kept_volumes: McpKeptVolumes | null }).kept_volumes;
  }

  start(id: string): Promise<McpServer> {
    return this.#change(id, 'start', startMs);
  }

  stop(id: string): Promise<McpServer> {
    return this.#change(id, 'stop', stopMs);
  }

  restart(id: string): Promise<McpServer> {
    return this.#change(id, 'restart', startMs);
  }

  /** The result; an error that the MCP server answers with is a Failure. */
  async call(
    id: string,
    json: McpCall,
    signal?: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>>> {
    const outcome = (await this.#transport.json({
      method: 'POST',
      path: `${server(id)}/call`,
      json,
      answerMs: json.timeout_ms + graceMs,
      ...(signal && { signal }),
    })) as McpOutcome;
    if ('result' in outcome) return outcome.result;
    const { code, message } = outcome.error;
    throw new Failure('mcp_error', `${json.method}: ${message} (${String(code)})`, {
      hint: 'So the MCP server answered; `emergent mcp logs` has what it wrote.',
      details: outcome.error,
    });
  }

  /** The newest, oldest first. */
  async logs(id: string, tail: number): Promise<readonly McpLogLine[]> {
    const path = `${server(id)}/logs`;
    const query = { tail: String(tail) };
    const body = await this.#transport.json({ method: 'GET', path, query });
    return (body as { items: readonly McpLogLine[] }).items;
  }

  /** The newest, oldest first, then what is written, without end. */
  async followLogs(
    id: string,
    tail: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<McpLogLine>> {
    const answer = await this.#transport.open({
      method: 'GET',
      path: `${server(id)}/logs`,
      query: { tail: String(tail), follow: 'true' },
      accept: 'text/event-stream',
      signal,
    });
    return eventAnswer(answer, parseLine, () => false, this.#transport.origin, signal);
  }

  async keptVolumes(): Promise<readonly McpKeptVolumes[]> {
    const body = await this.#transport.json({ method: 'GET', path: volumes });
    return (body as { items: readonly McpKeptVolumes[] }).items;
  }

  async removeKeptVolumes(id: string): Promise<void> {
    const path = `${volumes}/${encodeURIComponent(id)}`;
    await this.#transport.json({ method: 'DELETE', path, answerMs: stopMs });
  }

  async #change(id: string, change: string, answerMs: number): Promise<McpServer> {
    const path = `${server(id)}/${change}`;
    const call = { method: 'POST', path, json: {}, answerMs } as const;
    return (await this.#transport.json(call)) as McpServer;
  }
}

const servers = '/mcp/servers';
const volumes = '/mcp/volumes';

function server(id: string): string {
  return `${servers}/${encodeURIComponent(id)}`;
}

function parseLine(_event: string, data: EventData): McpLogLine | undefined {
  return typeof data['text'] === 'string' ? (data as unknown as McpLogLine) : undefined;
}
