import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Caller } from '../../domain/caller.ts';
import { cut } from '../../domain/events.ts';
import type { ToolCall } from '../../domain/events.ts';
import type { EventStore } from '../../domain/store.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { McpCallNote } from './operations.ts';

/** Calls come faster than a slow log takes them; what is more than this is not kept, and that is said. */
const mostWaiting = 2_000;
const mostAtOnce = 500;
/** Notes that come within this time are written together: one write costs as much as several calls. */
const gatherMs = 100;

/** Leaves an event of each tool that was called. Nobody waits for it. */
export class CallNotes {
  readonly #events: Pick<EventStore, 'recordCalls'>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #hurry = new AbortController();
  #waiting: ToolCall[] = [];
  #dropped = 0;
  #writing: Promise<void> | undefined;

  constructor(events: Pick<EventStore, 'recordCalls'>, clock: Clock, log: Log) {
    this.#events = events;
    this.#clock = clock;
    this.#log = log;
  }

  note(caller: Caller, { id, owner }: Pick<Workspace, 'id' | 'owner'>, call: McpCallNote): void {
    if (this.#waiting.length >= mostWaiting) {
      this.#dropped += 1;
      return;
    }
    const { tool, durationMs, result } = call;
    this.#waiting.push({
      ...{ workspaceId: id, owner, actor: caller.tokenId, tool: 'mcp_call' },
      at: this.#clock.now(),
      detail: { subject: cut(tool), duration_ms: Math.round(durationMs), result },
    });
    this.#writing ??= this.#write();
  }

  /** When all that was noted is written; from now on without gathering. */
  async written(): Promise<void> {
    this.#hurry.abort(new Error('the server is stopping'));
    await this.#writing;
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#clock.sleep(gatherMs, this.#hurry.signal).catch(() => undefined);
      const calls = this.#waiting.splice(0, mostAtOnce);
      try {
        await this.#events.recordCalls(calls);
      } catch (error) {
        this.#log.warn('calls of MCP servers could not be recorded', {
          calls: calls.length,
          err: error,
        });
      }
    }
    this.#writing = undefined;
    if (this.#dropped === 0) return;
    const message = 'calls of MCP servers were not recorded: the log is too slow for them';
    this.#log.warn(message, { calls: this.#dropped });
    this.#dropped = 0;
  }
}
