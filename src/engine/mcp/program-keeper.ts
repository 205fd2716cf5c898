import { withDeadline } from '../../base/deadline.ts';
import type { Log } from '../../base/log.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { McpEventKind } from '../../domain/events.ts';
import { mcpConfigOf, untriedMcpState } from '../../domain/mcp.ts';
import type { McpExit, McpRun, McpState } from '../../domain/mcp.ts';
import {
  afterExit,
  afterManualRestart,
  isCrash,
  standingDecision,
} from '../../domain/mcp-restart.ts';
import type { Workspace } from '../../domain/workspace.ts';
import { refOf } from '../lifecycle/sandbox-specs.ts';
import { beginProgram, leftoversGraceMs } from './begin-program.ts';
import type { Begun, Place } from './begin-program.ts';
import type { McpContext } from './context.ts';
import { exitText } from './exit-text.ts';
import type { HealthBoard } from './health-board.ts';
import type { LogRing } from './log-ring.ts';
import { Performance } from './performance.ts';
import type { ProgramEnd } from './read-program.ts';

/** What keeps the next start of a program from being now. */
export type Pause =
  | { readonly kind: 'until'; readonly at: Date; readonly reason: string }
  | { readonly kind: 'left'; readonly reason: string; readonly error?: EmergentError };

/** What came of a program: a pause, a lost sandbox, or nothing that keeps the next from starting. */
export type Outcome = Pause | { readonly kind: 'lost'; readonly why: unknown } | undefined;

export interface KeeperParts {
  readonly id: string;
  readonly context: McpContext;
  readonly log: Log;
  readonly board: HealthBoard;
  readonly logs: LogRing;
  readonly state?: McpState;
}

const endAllSlackMs = 15_000;
/** What a program gets to end by itself when it is told to restart. */
const restartGraceMs = 10_000;

/** Keeps the program of one server: from its start, or from where it is found running, to its end, and what follows. */
export class ProgramKeeper {
  readonly #parts: KeeperParts;
  #state: McpState;
  #performance: Performance | undefined;
  #order: AbortController | undefined;
  /** Nothing of what runs or ran in the sandbox has been seen by this server of ours yet. */
  #unseen = true;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
    this.#state = parts.state ?? untriedMcpState;
  }

  get state(): McpState {
    return this.#state;
  }

  get performance(): Performance | undefined {
    return this.#performance;
  }

  /** Its past is forgotten; a program that runs ends. */
  restart(): void {
    this.#unseen = false;
    this.#state = { ...this.#state, ...afterManualRestart(this.#state) };
    this.#order?.abort(new EmergentError('mcp_failed', 'its program was told to restart'));
  }

  /** Whatever ran in the sandbox before ended with it, and not by itself. */
  async sandboxIsNew(): Promise<void> {
    this.#unseen = false;
    if (this.#state.run) await this.#save({ ...this.#state, run: null });
  }

  /** What was decided when it last ended holds, also for a server of ours that was not there to decide it. */
  standingPause(row: Workspace): Pause | undefined {
    const { run, lastExit } = this.#state;
    if (!this.#unseen || run || !lastExit) return undefined;
    const next = standingDecision(this.#state, mcpConfigOf(row).restartPolicy);
    const reason = exitText(lastExit);
    if (next?.kind === 'leave') return { kind: 'left', reason: `${reason}; ${next.why}` };
    return { kind: 'until', at: later(lastExit.at, next?.delayMs ?? 0), reason };
  }

  async perform(row: Workspace, signal: AbortSignal): Promise<Outcome> {
    const { context, logs } = this.#parts;
    const place = this.#placeOf(row);
    let begun: Begun;
    try {
      begun = await context.starts.use(() => this.#begin(row, place, signal), signal);
    } catch (error) {
      if (isLost(error)) return { kind: 'lost', why: error };
      if (!(error instanceof EmergentError) || error.code !== 'no_program') throw error;
      logs.add('host', error.message);
      await this.#save({ ...this.#state, run: null });
      return { kind: 'left', reason: error.message, error };
    } finally {
      this.#unseen = false;
    }
    if (begun.kind === 'ended') return this.#ended(row, place, begun.exit, begun.run, signal);
    const end = await this.#attend(row, begun, signal);
    return this.#after(row, place, begun.run, end, signal);
  }

  #begin(row: Workspace, place: Place, signal: AbortSignal): Promise<Begun> {
    const { run } = this.#state;
    if (!run) this.#parts.board.tell('starting', 'its program is being started');
    const remember = (next: McpRun): Promise<void> => this.#save({ ...this.#state, run: next });
    return beginProgram(this.#parts.context, place, row, run, remember, signal);
  }

  /** Until the program ends or is lost; undefined: it is to restart. */
  async #attend(
    row: Workspace,
    begun: Exclude<Begun, { kind: 'ended' }>,
    signal: AbortSignal,
  ): Promise<ProgramEnd | undefined> {
    const { context, log, logs, board } = this.#parts;
    const { clock, settings, providers } = context;
    const performance = new Performance(row, begun, {
      ...{ clock, log, logs, board, settings, provider: providers.get(row.provider) },
      introduced: async (introduction) => {
        await this.#save({ ...this.#state, run: { ...begun.run, introduction } });
        this.#note('started', introduction ? { server: introduction.serverInfo.name } : {});
      },
      note: (kind, detail) => {
        this.#note(kind, detail);
      },
    });
    const order = new AbortController();
    this.#order = order;
    this.#performance = performance;
    try {
      return await performance.run(AbortSignal.any([signal, order.signal]));
    } catch (error) {
      if (signal.aborted || !order.signal.aborted) throw error;
      return undefined;
    } finally {
      this.#order = undefined;
      this.#performance = undefined;
      board.tell('starting', 'its program has ended');
    }
  }

  async #after(
    row: Workspace,
    place: Place,
    run: McpRun,
    end: ProgramEnd | undefined,
    signal: AbortSignal,
  ): Promise<Outcome> {
    if (!end) {
      this.#parts.logs.add('host', 'it is told to restart');
      await this.#endAll(place, restartGraceMs, signal);
      await this.#save({ ...this.#state, run: null });
      return undefined;
    }
    const now = await this.#parts.context.store.get(this.#parts.id);
    if (now?.status === 'ready' && now.desiredState === 'running') {
      return end.kind === 'lost' ? end : this.#ended(row, place, end.exit, run, signal);
    }
    if (now && end.kind === 'exited') this.#note('exited', { ...exitDetail(end.exit), told: true });
    if (now && now.status !== 'destroying') await this.#save({ ...this.#state, run: null });
    return undefined;
  }

  /** It ended by itself. What it has left behind goes too, so that the next one begins as the first did. */
  async #ended(
    row: Workspace,
    place: Place,
    exit: McpExit,
    run: McpRun,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { logs, log } = this.#parts;
    // Fails where another server of ours has taken it over: what runs now is not ours to end.
    await this.#save(this.#state);
    // A sandbox that cannot be emptied was itself told to end, by its engine or its host, and its program with it: how
    // that ended says nothing.
    const why = await this.#endAll(place, leftoversGraceMs, signal);
    if (why) return { kind: 'lost', why };
    const { restartPolicy } = mcpConfigOf(row);
    const { history, next } = afterExit(this.#state, exit, restartPolicy, run.startedAt);
    const reason = exitText(exit, logs.lastWords);
    logs.add('host', exitText(exit));
    log.warn('the program of an MCP server has ended', { ...exitDetail(exit), next });
    this.#note(isCrash(exit) ? 'crashed' : 'exited', exitDetail(exit));
    const pause: Pause =
      next.kind === 'restart'
        ? { kind: 'until', at: later(exit.at, next.delayMs), reason }
        : { kind: 'left', reason: `${reason}; ${next.why}` };
    if (next.kind === 'restart' && next.warning) {
      log.warn('an MCP server keeps crashing', { delay_ms: next.delayMs });
      this.#note('crash_loop', { ...exitDetail(exit), delay_ms: next.delayMs });
    }
    await this.#save({ ...history, run: null });
    return pause;
  }

  /** Answers with what kept it from that. */
  async #endAll({ processes, ref }: Place, graceMs: number, signal: AbortSignal): Promise<unknown> {
    try {
      await withDeadline(
        'ending what is left of a program',
        graceMs + endAllSlackMs,
        (inner) => processes.endAll(ref, graceMs, inner),
        signal,
      );
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      this.#parts.log.warn('what a program has left could not be ended', { err: error });
      return error;
    }
  }

  #placeOf(row: Workspace): Place {
    const provider = this.#parts.context.providers.get(row.provider);
    if (provider.processes) return { processes: provider.processes, ref: refOf(row) };
    throw new EmergentError('unsupported', `${provider.name} cannot keep the program of a server`);
  }

  async #save(state: McpState): Promise<void> {
    this.#state = state;
    if (await this.#parts.context.mcp.saveState(this.#parts.id, state)) return;
    throw new EmergentError('hosted_elsewhere', 'another server has taken it over, or it is gone');
  }

  #note(kind: McpEventKind, detail: Readonly<Record<string, unknown>>): void {
    const { id, context, log } = this.#parts;
    const event = { workspaceId: id, kind, at: context.clock.now(), detail };
    context.events.recordMcp(event).catch((error: unknown) => {
      log.warn('what happened to an MCP server could not be recorded', { kind, err: error });
    });
  }
}

function isLost(error: unknown): boolean {
  return error instanceof EmergentError && error.code === 'sandbox_unreachable';
}

function exitDetail({ exitCode, signal }: McpExit): Readonly<Record<string, unknown>> {
  return { exit_code: exitCode, signal };
}

function later(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms);
}
