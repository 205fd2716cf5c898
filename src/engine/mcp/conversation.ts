import type { Clock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import type { Log } from '../../base/log.ts';
import { reasonOf } from '../../base/reason.ts';
import type { McpEventKind } from '../../domain/events.ts';
import type { McpIntroduction } from '../../domain/mcp.ts';
import type { Bridge } from './bridge/bridge.ts';
import type { HealthBoard } from './health-board.ts';
import type { LogRing } from './log-ring.ts';

/** How a program is asked whether it is there. */
export interface Interlocutor {
  /** Once, before all else; as long as it takes. Null: it has nothing to say about itself. */
  introduce(signal: AbortSignal): Promise<McpIntroduction | null>;
  /** Fails where no answer comes. */
  ping(timeoutMs: number, signal: AbortSignal): Promise<void>;
  readonly lastHeardAt: Date | null;
}

export interface ConversationParts {
  readonly board: HealthBoard;
  readonly logs: LogRing;
  readonly clock: Clock;
  readonly log: Log;
  readonly pingEveryMs: number;
  /** Its introduction is to be remembered before it is used by anybody. */
  readonly introduced: (introduction: McpIntroduction | null) => Promise<void>;
  readonly note: (kind: McpEventKind, detail: Readonly<Record<string, unknown>>) => void;
}

const pingTimeoutMs = 10_000;
/** A program that waits for ever for its introduction is ended by what it does, not by us. */
const practicallyForEverMs = 7 * 24 * 3_600_000;

/**
 * Talks to a program from its start to its end: it introduces itself, and is then asked from time to time whether it
 * still answers. One that does not is `unresponsive`, which is told and changes nothing: it may be busy with what
 * somebody waits for.
 */
export async function converse(
  partner: Interlocutor,
  { initializeTimeoutMs, adopted }: { initializeTimeoutMs: number; adopted: boolean },
  parts: ConversationParts,
  signal: AbortSignal,
): Promise<void> {
  if (adopted) parts.board.tell('healthy');
  else if (!(await introduce(partner, initializeTimeoutMs, parts, signal))) return;
  await keepAsking(partner, parts, signal);
}

async function introduce(
  partner: Interlocutor,
  timeoutMs: number,
  parts: ConversationParts,
  signal: AbortSignal,
): Promise<boolean> {
  const { board, clock } = parts;
  const waiting = new AbortController();
  const overdue = clock
    .sleep(timeoutMs, AbortSignal.any([signal, waiting.signal]))
    .then(() => {
      silent(parts, `it has not introduced itself within ${String(timeoutMs / 1000)} seconds`);
    })
    .catch(() => undefined);
  try {
    await parts.introduced(await partner.introduce(signal));
    board.tell('healthy');
    return true;
  } catch (error) {
    signal.throwIfAborted();
    silent(parts, reasonOf(error));
    return false;
  } finally {
    waiting.abort(new Error('it has answered'));
    await overdue;
  }
}

async function keepAsking(
  partner: Interlocutor,
  parts: ConversationParts,
  signal: AbortSignal,
): Promise<void> {
  const { board, clock, pingEveryMs, logs } = parts;
  for (;;) {
    const lost = board.told.state === 'unresponsive';
    await clock.sleep(lost ? Math.min(pingEveryMs, retryMs) : pingEveryMs, signal);
    const silentMs = clock.now().getTime() - (partner.lastHeardAt?.getTime() ?? 0);
    try {
      if (silentMs >= pingEveryMs || lost) await partner.ping(pingTimeoutMs, signal);
      if (board.told.state !== 'unresponsive') continue;
      board.tell('healthy');
      logs.add('host', 'it answers again');
      parts.note('responsive', {});
    } catch (error) {
      signal.throwIfAborted();
      if (!lost) silent(parts, `it does not answer: ${reasonOf(error)}`);
    }
  }
}

const retryMs = 5_000;

function silent({ board, logs, log, note }: ConversationParts, reason: string): void {
  board.tell('unresponsive', reason);
  logs.add('host', reason);
  log.warn('an MCP server is unresponsive', { reason });
  note('unresponsive', { reason });
}

/** One that talks over its pipe. */
export function overPipe(bridge: Bridge): Interlocutor {
  return {
    introduce: (signal) => bridge.introduce(practicallyForEverMs, signal),
    ping: (timeoutMs, signal) => bridge.ping(timeoutMs, signal),
    get lastHeardAt() {
      return bridge.lastHeardAt;
    },
  };
}

const knockEveryMs = 200;

/** One that serves HTTP itself: it is there while its port takes connections. */
export function overHttp(
  knock: (signal: AbortSignal) => Promise<void>,
  clock: Clock,
): Interlocutor {
  let heardAt: Date | null = null;
  const ping = async (timeoutMs: number, signal: AbortSignal): Promise<void> => {
    await withDeadline('a connection to its port', timeoutMs, knock, signal);
    heardAt = clock.now();
  };
  return {
    ping,
    async introduce(signal) {
      for (;;) {
        try {
          await ping(pingTimeoutMs, signal);
          return null;
        } catch {
          await clock.sleep(knockEveryMs, signal);
        }
      }
    },
    get lastHeardAt() {
      return heardAt;
    },
  };
}
