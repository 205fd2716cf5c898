import { Bell } from '../../base/bell.ts';
import { withDeadline } from '../../base/deadline.ts';
import { startLoop } from '../../base/loop.ts';
import { Troubles } from '../../base/troubles.ts';
import { EmergentError } from '../../domain/errors.ts';
import { actors } from '../../domain/events.ts';
import type { Workspace } from '../../domain/workspace.ts';
import type { Suspension } from '../lifecycle/suspension.ts';
import type { McpContext } from './context.ts';
import { Supervisor } from './supervisor.ts';

export interface McpHostOptions extends McpContext {
  readonly suspension: McpContext['suspension'] & Pick<Suspension, 'suspend'>;
}

/** However little changes: other servers of ours come and go, and so do rows by their hands. */
const everyMs = 10_000;
const leastPauseMs = 50;
/** Beyond the grace that programs get. */
const shutdownSlackMs = 30_000;
const by = actors.mcpHost;

/**
 * The MCP servers that this server of ours looks after: all of the database that no other one does. Each has a supervisor
 * of its own; here is only decided who has one.
 */
export class McpHost implements AsyncDisposable {
  readonly #options: McpHostOptions;
  readonly #supervisors = new Map<string, Supervisor>();
  readonly #nudges = new Bell();
  readonly #troubles: Troubles;
  #loop: Disposable | undefined;
  #closing = false;
  #turning: Promise<void> = Promise.resolve();

  constructor(options: McpHostOptions) {
    this.#options = options;
    this.#troubles = new Troubles(options.log);
  }

  /** The first turn, which takes up all that should run, begins at once. */
  start(): void {
    const { clock, log } = this.#options;
    this.#loop ??= startLoop(
      0,
      async (signal) => {
        const heard = this.#nudges.rings;
        await this.#turn();
        await clock.sleep(leastPauseMs, signal);
        await this.#nudges.ringAfter(heard, everyMs, clock, signal);
      },
      clock,
      (error) => {
        log.error('nobody looks after MCP servers any more', { err: error });
      },
    );
  }

  supervisor(id: string): Supervisor | undefined {
    return this.#supervisors.get(id);
  }

  /** One that this server looks after, by its id, or by its name where it is this owner's own. */
  find(idOrName: string, owner: string): Supervisor | undefined {
    const byId = this.#supervisors.get(idOrName);
    if (byId) return byId;
    for (const supervisor of this.#supervisors.values()) {
      if (supervisor.name === idOrName && supervisor.owner === owner) return supervisor;
    }
    return undefined;
  }

  /** Who looks after it; one that nobody does is taken up now. Undefined: another server of ours does. */
  async supervisorOf(workspace: Workspace): Promise<Supervisor | undefined> {
    const known = this.#supervisors.get(workspace.id);
    if (known) return known;
    if (this.#closing) throw new EmergentError('shutting_down', 'the server is stopping');
    await this.#takeUp([workspace]);
    return this.#supervisors.get(workspace.id);
  }

  /** Something that may have kept servers from running has changed. */
  tryNow(): void {
    for (const supervisor of this.#supervisors.values()) supervisor.wake();
    this.#nudges.ring();
  }

  /** It is no longer there to be looked after. */
  async forget(id: string): Promise<void> {
    const supervisor = this.#supervisors.get(id);
    this.#supervisors.delete(id);
    await supervisor?.[Symbol.asyncDispose]();
  }

  /** The programs are told to end, and are started again by whoever comes next. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { settings, mcp, log } = this.#options;
    this.#closing = true;
    this.#loop?.[Symbol.dispose]();
    await this.#turning;
    const ids = [...this.#supervisors.keys()];
    await Promise.all(ids.map((id) => this.forget(id)));
    try {
      await withDeadline(
        'the end of MCP servers',
        settings.shutdownGraceMs + shutdownSlackMs,
        async () => {
          await Promise.all(ids.map((id) => this.#shutDown(id)));
          await mcp.releaseHosting(ids);
        },
      );
    } catch (error) {
      log.warn('MCP servers could not all be stopped; the next server takes them up', {
        err: error,
      });
    }
  }

  async #turn(): Promise<void> {
    if (this.#closing) return;
    const turn = this.#compare();
    this.#turning = turn.catch(() => undefined);
    try {
      await turn;
      this.#troubles.over('mcp', 'MCP servers are looked after again');
    } catch (error) {
      this.#troubles.note('mcp', 'MCP servers cannot be looked for; it is tried again', error);
    }
  }

  async #compare(): Promise<void> {
    const rows = await this.#options.mcp.servers();
    const wanted = rows.filter(({ status }) => status !== 'destroying');
    await this.#takeUp(wanted);
    const there = new Set(wanted.map(({ id }) => id));
    const gone = [...this.#supervisors.keys()].filter((id) => !there.has(id));
    await Promise.all(gone.map((id) => this.forget(id)));
  }

  async #takeUp(rows: readonly Workspace[]): Promise<void> {
    const { mcp } = this.#options;
    if (rows.length === 0) return;
    const hosted = await mcp.claimHosting(rows.map(({ id }) => id));
    const lost = rows.filter(({ id }) => !hosted.has(id));
    await Promise.all(lost.map(({ id }) => this.forget(id)));
    const fresh = rows.filter(({ id }) => hosted.has(id) && !this.#supervisors.has(id));
    if (fresh.length === 0) return;
    const states = await mcp.states(fresh.map(({ id }) => id));
    for (const row of fresh) {
      if (this.#closing || this.#supervisors.has(row.id)) continue;
      const supervisor = new Supervisor(row, this.#options, states.get(row.id));
      this.#supervisors.set(row.id, supervisor);
      supervisor.start();
    }
  }

  async #shutDown(id: string): Promise<void> {
    const { store, mcp, suspension, settings, log } = this.#options;
    try {
      const row = await store.get(id);
      if (row?.status !== 'ready') return;
      await suspension.suspend(row, by, { graceMs: settings.shutdownGraceMs });
      const state = (await mcp.states([id])).get(id);
      if (state?.run) await mcp.saveState(id, { ...state, run: null });
    } catch (error) {
      log.warn('an MCP server could not be stopped', { workspace: id, err: error });
    }
  }
}
