import { Bell } from '../../base/bell.ts';
import type { Log } from '../../base/log.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import { actors } from '../../domain/events.ts';
import { mcpConfigOf } from '../../domain/mcp.ts';
import type { McpState } from '../../domain/mcp.ts';
import { isChanging } from '../../domain/workspace.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { McpContext } from './context.ts';
import { HealthBoard } from './health-board.ts';
import { LogRing } from './log-ring.ts';
import type { McpTarget } from './operations.ts';
import type { Performance } from './performance.ts';
import { ProgramKeeper } from './program-keeper.ts';
import type { Pause } from './program-keeper.ts';

/** A row that others change is looked at so often; one at rest is, if nobody rings. */
const lookSoonMs = 300;
const lookLaterMs = 60_000;
const retryPausesMs = [500, 1_000, 2_000, 4_000] as const;
const longestRetryMs = 8_000;
const lossesCountMs = 60_000;
const by = actors.mcpHost;

/**
 * Keeps one MCP server as it is wanted, on its own: its sandbox ready, its program running and heard. One loop looks at
 * the row, does the next thing that is missing, and begins anew whenever something has ended or somebody rings.
 */
export class Supervisor implements AsyncDisposable {
  readonly id: string;
  /** What does not change about it. */
  readonly owner: string;
  readonly name: string;
  readonly shared: boolean;
  readonly board: HealthBoard;
  readonly logs: LogRing;
  readonly #context: McpContext;
  readonly #log: Log;
  readonly #keeper: ProgramKeeper;
  readonly #bell = new Bell();
  readonly #stop = new AbortController();
  #living: Promise<void> = Promise.resolve();
  #pause: Pause | undefined;
  #failures = 0;
  /** How often somebody wanted it to start anew. */
  #orders = 0;
  /** When its sandbox was lost, of late. */
  #losses: readonly number[] = [];

  constructor(workspace: Workspace, context: McpContext, state: McpState | undefined) {
    const { id } = workspace;
    const { name, shared } = mcpConfigOf(workspace);
    this.id = id;
    this.owner = workspace.owner;
    this.name = name;
    this.shared = shared;
    this.#context = context;
    this.#log = context.log.child({ workspace: id });
    this.board = new HealthBoard(context.clock);
    this.logs = new LogRing(context.clock);
    this.#keeper = new ProgramKeeper({
      ...{ id, context, log: this.#log, board: this.board, logs: this.logs },
      ...(state && { state }),
    });
  }

  get state(): McpState {
    return this.#keeper.state;
  }

  /** The program that runs now, if one does. */
  get performance(): Performance | undefined {
    return this.#keeper.performance;
  }

  /** Where its program is called, if it can be now. */
  target(): McpTarget | undefined {
    return this.#keeper.performance?.target;
  }

  /** Why its program cannot be started at all. */
  get startProblem(): EmergentError | undefined {
    return this.#pause?.kind === 'left' ? this.#pause.error : undefined;
  }

  start(): void {
    this.#living = this.#live(this.#stop.signal).catch((error: unknown) => {
      if (this.#stop.signal.aborted) return;
      this.#log.error('an MCP server is no longer looked after', { err: error });
      this.board.tell('unavailable', reasonOf(error));
    });
  }

  /** Something may have changed: look now. */
  wake(): void {
    this.#bell.ring();
  }

  /** Its past is forgotten; a program that runs ends, and one is started at once. */
  restart(): void {
    this.#orders += 1;
    this.#pause = undefined;
    this.board.tell('starting', 'it was told to restart');
    this.#keeper.restart();
    this.#bell.ring();
  }

  /** Somebody wants it to run: what keeps it from that no longer counts. */
  begin(): void {
    if (!this.#keeper.performance) this.restart();
  }

  /** Looks no more. The program goes on. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new EmergentError('shutting_down', 'the server is stopping'));
    await this.#living;
    this.logs[Symbol.dispose]();
  }

  async #live(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const heard = this.#bell.rings;
      try {
        const row = await this.#context.store.get(this.id);
        if (!row || row.status === 'destroying') {
          this.board.tell('stopped', 'it was deleted');
          return;
        }
        await this.#look(row, heard, signal);
        this.#failures = 0;
      } catch (error) {
        signal.throwIfAborted();
        await this.#troubled(error, heard, signal);
      }
    }
  }

  async #look(row: Workspace, heard: number, signal: AbortSignal): Promise<void> {
    if (row.desiredState === 'stopped') {
      this.#pause = undefined;
      this.board.tell('stopped', row.statusReason);
      await this.#waitFor(lookLaterMs, heard, signal);
      return;
    }
    if (row.status !== 'ready') return this.#ready(row, heard, signal);
    this.#pause ??= this.#keeper.standingPause(row);
    if (this.#pause && !(await this.#isDue(this.#pause, heard, signal))) return;
    this.#pause = undefined;
    const orders = this.#orders;
    const outcome = await this.#keeper.perform(row, signal);
    if (outcome?.kind === 'lost') await this.#revive(row, outcome.why, heard, signal);
    // Who wants it to run, while it is decided what follows its end, has decided it.
    else if (orders === this.#orders) this.#pause = outcome;
  }

  async #troubled(error: unknown, heard: number, signal: AbortSignal): Promise<void> {
    const reason = reasonOf(error);
    if (this.board.told.state !== 'unavailable') {
      this.#log.warn('an MCP server cannot be run now', { err: error });
      this.logs.add('host', `it cannot be run now: ${reason}`);
    }
    this.board.tell('unavailable', reason);
    const pauseMs = retryPausesMs[this.#failures] ?? longestRetryMs;
    this.#failures += 1;
    await this.#waitFor(pauseMs, heard, signal);
  }

  /** Its sandbox is to run and does not. */
  async #ready(row: Workspace, heard: number, signal: AbortSignal): Promise<void> {
    const { suspension, starts } = this.#context;
    if (isChanging(row.status)) {
      await this.#waitFor(lookSoonMs, heard, signal);
      return;
    }
    this.board.tell('starting', 'its sandbox is being started');
    try {
      await starts.use(
        () => (row.status === 'error' ? suspension.recover(row, by) : suspension.resume(row, by)),
        signal,
      );
    } catch (error) {
      if (!(await this.#lostNothing(row, error))) throw error;
      await starts.use(() => suspension.recreate(row, by, reasonOf(error)), signal);
    }
    await this.#keeper.sandboxIsNew();
  }

  /** A server without volumes has no files to lose: another sandbox is as good. */
  async #lostNothing(row: Workspace, error: unknown): Promise<boolean> {
    if (!(error instanceof EmergentError) || error.code !== 'files_lost') return false;
    if (mcpConfigOf(row).volumes.length > 0) return false;
    const now = await this.#context.store.get(row.id);
    return now?.status === 'error' || now?.status === 'stopped';
  }

  /** True when the time has come. */
  async #isDue(pause: Pause, heard: number, signal: AbortSignal): Promise<boolean> {
    if (pause.kind === 'left') {
      this.board.tell('ended', pause.reason);
      await this.#waitFor(lookLaterMs, heard, signal);
      return false;
    }
    const left = pause.at.getTime() - this.#context.clock.now().getTime();
    if (left <= 0) return true;
    this.board.tell('waiting', pause.reason, pause.at);
    await this.#waitFor(left, heard, signal);
    return false;
  }

  /** Its sandbox is gone, or does not answer: it is brought back, from its row if need be. */
  async #revive(row: Workspace, why: unknown, heard: number, signal: AbortSignal): Promise<void> {
    const now = this.#context.clock.monotonic();
    const lately = this.#losses.filter((at) => now - at < lossesCountMs);
    this.#losses = [...lately, now];
    const reason = reasonOf(why);
    this.logs.add('host', `its sandbox is lost: ${reason}`);
    this.#log.warn('the sandbox of an MCP server is lost', { err: why });
    this.board.tell('starting', 'its sandbox is being brought back');
    // One that is lost again and again is not for want of looking.
    const pauseMs = lately.length === 0 ? 0 : (retryPausesMs[lately.length - 1] ?? longestRetryMs);
    if (pauseMs > 0) await this.#waitFor(pauseMs, heard, signal);
    await this.#context.suspension.revive(row, by, reason);
  }

  #waitFor(ms: number, heard: number, signal: AbortSignal): Promise<void> {
    return this.#bell.ringAfter(heard, ms, this.#context.clock, signal);
  }
}
