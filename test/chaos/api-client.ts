import { systemClock } from '../../src/base/clock.ts';
import { reasonOf } from '../../src/base/reason.ts';
import type { WorkspaceStatus } from '../../src/domain/workspace.ts';
import type { Outcome } from './model/workspace-record.ts';

/** What the driver reads of a workspace. */
export interface Row {
  readonly id: string;
  readonly status: WorkspaceStatus;
  readonly status_reason: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** How one request ended; without an answer there is no status, and nobody knows what it did. */
export interface Reply {
  readonly outcome: Outcome;
  readonly status: number | undefined;
  /** The error's code, or why there was no answer. */
  readonly reason: string;
  readonly body: Buffer;
  readonly ms: number;
}

/** Longer than the server's own deadlines: it is to answer, not we to give up. */
const requestMs = 90_000;
const pageSize = 200;
const workspaces = '/api/v1/agent/workspaces';

/** A plain client of the public API. Every request is bounded, none is repeated, and no failure throws. */
export class ApiClient {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  /** `path` is under the collection of workspaces, or absolute under /api. */
  async send(method: string, path: string, body?: unknown): Promise<Reply> {
    const raw = body instanceof Uint8Array;
    const headers = {
      authorization: `Bearer ${this.#token}`,
      ...(body !== undefined && {
        'content-type': raw ? 'application/octet-stream' : 'application/json',
      }),
    };
    const startedAt = systemClock.monotonic();
    const ended = (): number => systemClock.monotonic() - startedAt;
    try {
      const response = await fetch(
        this.#url + (path.startsWith('/api') ? path : workspaces + path),
        {
          method,
          headers,
          signal: AbortSignal.timeout(requestMs),
          ...(body !== undefined && { body: raw ? body : JSON.stringify(body) }),
        },
      );
      const { status, ok } = response;
      const answer = Buffer.from(await response.arrayBuffer());
      if (ok) return { outcome: 'acknowledged', status, reason: '', body: answer, ms: ended() };
      return { outcome: 'refused', status, reason: codeOf(answer), body: answer, ms: ended() };
    } catch (error) {
      const reason =
        error instanceof Error && error.cause ? reasonOf(error.cause) : reasonOf(error);
      return { outcome: 'unknown', status: undefined, reason, body: Buffer.alloc(0), ms: ended() };
    }
  }

  /**
   * All workspaces, or those with one status; fails when the server does not answer with them. Those that wait in a
   * warm pool are listed only by their status.
   */
  async rows(status?: WorkspaceStatus): Promise<readonly Row[]> {
    const rows: Row[] = [];
    let cursor: string | null = null;
    do {
      const query = new URLSearchParams({
        limit: String(pageSize),
        ...(status && { status }),
        ...(cursor !== null && { cursor }),
      });
      const reply = await this.send('GET', `?${query.toString()}`);
      if (reply.outcome !== 'acknowledged') throw new Error(`listing: ${describe(reply)}`);
      const page = json(reply) as { items: Row[]; next_cursor: string | null };
      rows.push(...page.items);
      cursor = page.next_cursor;
    } while (cursor !== null);
    return rows;
  }
}

/** The body, for the caller to say what it is. */
export function json(reply: Reply): unknown {
  return JSON.parse(reply.body.toString());
}

/** For findings: the status and what the server said, or why it did not. */
export function describe(reply: Reply): string {
  if (reply.status === undefined) return `no answer (${reply.reason})`;
  return `${String(reply.status)} ${reply.body.toString().slice(0, 500)}`;
}

function codeOf(body: Buffer): string {
  try {
    const { error } = JSON.parse(body.toString()) as { error: { code: string } };
    return error.code;
  } catch {
    return 'an answer that is no error of the API';
  }
}
