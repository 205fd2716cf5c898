import { withDeadline } from '../../base/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { McpEventKind } from '../../domain/events.ts';
import { mcpConfigOf } from '../../domain/mcp.ts';
import type { McpIntroduction } from '../../domain/mcp.ts';
import type { WorkspaceProvider } from '../../domain/provider.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { Begun } from './begin-program.ts';
import { Bridge } from './bridge/bridge.ts';
import type { McpSettings } from './context.ts';
import { converse, overHttp, overPipe } from './conversation.ts';
import type { Interlocutor } from './conversation.ts';
import { exitText } from './exit-text.ts';
import type { HealthBoard } from './health-board.ts';
import { HttpTarget } from './http-target.ts';
import type { LogRing } from './log-ring.ts';
import type { McpTarget } from './operations.ts';
import { readPastLog, readProgram } from './read-program.ts';
import type { ProgramEnd, RunningProgram } from './read-program.ts';

export interface PerformanceParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly logs: LogRing;
  readonly board: HealthBoard;
  readonly settings: McpSettings;
  readonly provider: WorkspaceProvider;
  readonly introduced: (introduction: McpIntroduction | null) => Promise<void>;
  readonly note: (kind: McpEventKind, detail: Readonly<Record<string, unknown>>) => void;
}

/** To write into a pipe that nobody empties. */
const writeMs = 20_000;
const pastLogMs = 10_000;

/** One running program and all that is heard of it and said to it, from when it is read to its end. */
export class Performance {
  readonly #begun: Exclude<Begun, { kind: 'ended' }>;
  readonly #parts: PerformanceParts;
  readonly #initializeTimeoutMs: number;
  readonly #bridge: Bridge | undefined;
  readonly #http: HttpTarget | undefined;
  readonly #partner: Interlocutor;
  readonly #id: string;
  #hasIntroducedItself: boolean;

  constructor(row: Workspace, begun: Exclude<Begun, { kind: 'ended' }>, parts: PerformanceParts) {
    const { transport, maxInFlight, initializeTimeoutMs } = mcpConfigOf(row);
    this.#id = row.id;
    this.#begun = begun;
    this.#parts = parts;
    this.#initializeTimeoutMs = initializeTimeoutMs;
    this.#hasIntroducedItself = begun.kind === 'adopted';
    if (transport.kind === 'stdio') {
      this.#bridge = this.#pipe(begun.program, maxInFlight);
      if (begun.kind === 'adopted' && begun.introduction) this.#bridge.adopt(begun.introduction);
      this.#partner = overPipe(this.#bridge);
    } else {
      const http = new HttpTarget(parts.provider, begun.program.ref, transport);
      this.#http = http;
      this.#partner = overHttp(async (signal) => {
        (await http.dial(signal)).destroy();
      }, parts.clock);
    }
  }

  /** What is called now; undefined while it has not introduced itself. */
  get target(): McpTarget | undefined {
    const id = this.#id;
    if (this.#http) return { kind: 'http', id, target: this.#http };
    if (!this.#bridge || !this.#hasIntroducedItself) return undefined;
    return { kind: 'stdio', id, connection: this.#bridge };
  }

  get bridge(): Bridge | undefined {
    return this.#bridge;
  }

  get lastHeardAt(): Date | null {
    return this.#partner.lastHeardAt;
  }

  /** Until the program ends or is lost; rejects when `signal` aborts. */
  async run(signal: AbortSignal): Promise<ProgramEnd> {
    const { clock, logs, log } = this.#parts;
    const { program } = this.#begun;
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    const talking = this.#talk(until).catch((error: unknown) => {
      if (!until.aborted) log.error('an MCP server is no longer asked', { err: error });
    });
    let why = new EmergentError(
      'mcp_unavailable',
      'the server of ours that talks to it is stopping',
    );
    try {
      const end = await readProgram(program, { logs, stdout: this.#bridge, clock }, signal);
      why = new EmergentError(
        'mcp_failed',
        end.kind === 'exited' ? `its program ${exitText(end.exit)}` : 'its sandbox is lost',
      );
      return end;
    } catch (error) {
      if (error instanceof EmergentError && error.code === 'mcp_failed') why = error;
      throw error;
    } finally {
      over.abort(why);
      this.#bridge?.close(why);
      await talking;
    }
  }

  async #talk(signal: AbortSignal): Promise<void> {
    const { introduced, settings } = this.#parts;
    const adopted = this.#begun.kind === 'adopted';
    if (adopted) void this.#readPast(signal);
    await converse(
      this.#partner,
      { initializeTimeoutMs: this.#initializeTimeoutMs, adopted },
      {
        ...{ ...this.#parts, pingEveryMs: settings.pingEveryMs },
        introduced: async (introduction) => {
          await introduced(introduction);
          this.#hasIntroducedItself = true;
        },
      },
      signal,
    );
  }

  #pipe({ processes, ref, processId }: RunningProgram, maxInFlight: number): Bridge {
    const { clock, log, logs } = this.#parts;
    return new Bridge({
      ...{ maxInFlight, clock, log },
      write: (data, signal) =>
        withDeadline(
          'writing to the standard input of an MCP server',
          writeMs,
          (inner) => processes.input(ref, processId, data, inner),
          signal,
        ),
      onStray: (line) => {
        logs.add('stray', line);
      },
    });
  }

  async #readPast(signal: AbortSignal): Promise<void> {
    const { logs, log } = this.#parts;
    try {
      await withDeadline(
        'reading what a program wrote before',
        pastLogMs,
        (inner) => readPastLog(this.#begun.program, logs, inner),
        signal,
      );
    } catch (error) {
      if (!signal.aborted) log.warn('what a program wrote before cannot be read', { err: error });
    }
  }
}
