import type * as api from './api-types.ts';
import { eventAnswer } from './event-answer.ts';
import { bytesOf } from './event-data.ts';
import type { EventData } from './event-data.ts';
import type { Transport } from './transport.ts';

const startMs = 90_000;

/** The part of the API about the processes of workspaces. */
export class ProcessClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async start(workspaceId: string, request: api.NewProcess): Promise<api.Process> {
    return (await this.#transport.json({
      method: 'POST',
      path: processes(workspaceId),
      json: request,
      answerMs: startMs,
    })) as api.Process;
  }

  /** The API answers with `{items}`. */
  async list(workspaceId: string): Promise<readonly api.Process[]> {
    const body = await this.#transport.json({ method: 'GET', path: processes(workspaceId) });
    return (body as { items: readonly api.Process[] }).items;
  }

  async get(workspaceId: string, id: string): Promise<api.Process> {
    const path = process(workspaceId, id);
    return (await this.#transport.json({ method: 'GET', path })) as api.Process;
  }

  /** To the whole process group. */
  async signal(workspaceId: string, id: string, signal: string): Promise<void> {
    await this.#transport.json({
      method: 'POST',
      path: `${process(workspaceId, id)}/signal`,
      json: { signal },
    });
  }

  /** The output behind `offset`, going on until the process ends; the last event tells how. */
  async follow(
    workspaceId: string,
    id: string,
    offset: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<api.OutputEvent>> {
    const answer = await this.#transport.open({
      method: 'GET',
      path: `${process(workspaceId, id)}/output`,
      query: { offset: String(offset), follow: 'true' },
      accept: 'text/event-stream',
      signal,
    });
    const isLast = ({ type }: api.OutputEvent): boolean => type === 'exit';
    return eventAnswer(answer, parse, isLast, this.#transport.origin, signal);
  }
}

function parse(event: string, data: EventData): api.OutputEvent | undefined {
  const offset = Number(data['offset']);
  switch (event) {
    case 'stdout':
    case 'stderr':
      return { type: event, data: bytesOf(data), offset };
    case 'skipped':
      return { type: 'skipped', bytes: Number(data['bytes']), offset };
    case 'exit':
      return { type: 'exit', exit: data as unknown as api.Exit };
    default:
      return undefined;
  }
}

function processes(workspaceId: string): string {
  return `/agent/workspaces/${encodeURIComponent(workspaceId)}/processes`;
}

function process(workspaceId: string, id: string): string {
  return `${processes(workspaceId)}/${encodeURIComponent(id)}`;
}
