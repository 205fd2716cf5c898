import { systemClock as clock } from '../../src/base/clock.ts';
import { Findings } from '../chaos/findings.ts';
import type { Grounds } from '../chaos/grounds.ts';
import { Random } from '../chaos/random.ts';
import { Site } from '../chaos/site.ts';
import { LoadClient } from './client.ts';
import { close } from './closing.ts';
import type { LoadFindingKind } from './findings.ts';
import { Journal } from './journal.ts';
import { judge } from './judge.ts';
import { Killer } from './killer.ts';
import { Lulls } from './lulls.ts';
import { breakEngine } from './outage.ts';
import type { OutageSeen } from './outage.ts';
import { Pool } from '../chaos/pool.ts';
import type { LoadReport } from './report.ts';
import { StrayWatch } from './strays.ts';
import { summarize } from './summary.ts';
import { until } from '../chaos/until.ts';

export interface LoadOptions {
  /** How long the clients work, an outage not counted; the closing check comes after it. */
  readonly seconds: number;
  /** Go on for up to this long until sandboxes were handed out warm and, where asked for, killed while they waited. */
  readonly untilCompleteSeconds?: number;
  readonly clients: number;
  readonly pool: number;
  readonly seed: number;
  readonly killEveryMs?: number | undefined;
  /** How long clients work before they rest and the pool fills up again; ten seconds unless told. */
  readonly workMs?: number;
  readonly outageMs?: number | undefined;
  /** What the pool may take to be back at its size, and to be gone; then it is a finding. */
  readonly convergeMs: number;
  /** The checkout whose server is tested; this one unless told. */
  readonly root?: string;
  /** Told how it goes, every few seconds. */
  readonly progress?: (line: string) => void;
  /** Ends the run early, without the closing check and with the signal's reason. */
  readonly signal?: AbortSignal;
}

const progressMs = 5_000;
const lookEveryMs = 100;
const firstFillMs = 180_000;
const patienceMs = 180_000;

/** One whole run: clients and faults at the same time, then the closing check. Leaves nothing running. */
export async function runLoad(options: LoadOptions, grounds: Grounds): Promise<LoadReport> {
  const findings = new Findings<LoadFindingKind>(() => clock.now());
  const settings = { WORKSPACE_WARM_POOL_SIZE: String(options.pool) };
  const { progress, root } = options;
  await using site = await Site.open({ grounds, findings, settings, root, progress });
  const run = new LoadRun(options, grounds, site, findings);
  await run.work();
  if (options.signal?.aborted) site.forget();
  options.signal?.throwIfAborted();
  const report = await run.close();
  if (report.clean) site.forget();
  return report;
}

/** The parts of one run. */
class LoadRun {
  readonly #options: LoadOptions;
  readonly #grounds: Grounds;
  readonly #site: Site;
  readonly #findings: Findings<LoadFindingKind>;
  readonly #pool: Pool;
  readonly #journal = new Journal();
  readonly #killer: Killer;
  readonly #lulls: Lulls;
  readonly #strays: StrayWatch;
  readonly #clients: readonly LoadClient[];
  #outage: OutageSeen | undefined;
  #startedAt = clock.monotonic();

  constructor(
    options: LoadOptions,
    grounds: Grounds,
    site: Site,
    findings: Findings<LoadFindingKind>,
  ) {
    this.#options = options;
    this.#grounds = grounds;
    this.#site = site;
    this.#findings = findings;
    const { api } = site;
    const pool = new Pool(api);
    this.#pool = pool;
    const random = new Random(options.seed);
    const { docker } = grounds.engine;
    const everyMs = options.killEveryMs ?? Number.POSITIVE_INFINITY;
    this.#killer = new Killer({ api, docker, random: random.fork(0), clock, everyMs });
    const { workMs = 10_000 } = options;
    this.#lulls = new Lulls({ pool, random: random.fork(-1), clock, workMs });
    this.#strays = new StrayWatch(grounds.engine, clock);
    const shared = { api, journal: this.#journal, findings, clock, owners: new Map() };
    this.#clients = Array.from({ length: options.clients }, (_, at) => {
      const own = { number: at + 1, random: random.fork(at + 1) };
      return new LoadClient({ ...shared, ...own, pass: () => this.#lulls.pass() });
    });
  }

  /** Clients come upon a full pool; they stop when the time is over and everything is whole again. */
  async work(): Promise<void> {
    await this.#site.server.start();
    const filled = await until(() => this.#pool.isFull(), firstFillMs, this.#options.signal);
    if (filled === undefined) this.#findings.add('stuck', 'the pool', 'was not filled at first');
    this.#startedAt = clock.monotonic();
    const over = new AbortController();
    const working = [
      ...this.#clients.map((client) => client.run(over.signal)),
      this.#reportRegularly(over.signal),
      ...this.#disturbing(over.signal),
    ];
    try {
      await Promise.race([this.#passTime(), Promise.all(working)]);
    } finally {
      over.abort();
    }
    await Promise.all(working);
  }

  async close(): Promise<LoadReport> {
    this.#progress('checking');
    const seconds = this.#elapsed;
    const pool = await this.#pool.answer();
    const [{ api, premises, server }, findings] = [this.#site, this.#findings];
    const { pool: size, convergeMs } = this.#options;
    const closed = await close({
      api,
      pool: this.#pool,
      size,
      premises,
      findings,
      clock,
      convergeMs,
    });
    const journal = this.#journal;
    const killsOf = (id: string) => this.#killer.of(id);
    const judged = judge({ journal, killsOf, outage: this.#outage, findings });
    const strays = await this.#strays.stop(findings);
    await server.stop();
    for (const pid of await this.#site.serversLeft()) {
      findings.add('leak', `process ${pid}`, 'a server process is left');
    }
    return summarize({
      ...{ options: this.#options, seconds, pool, closed, journal },
      ...{ strays, kills: this.#killer.kills, excused: judged.excused, outage: this.#outage },
      ...{ findings: findings.all(), directory: this.#site.directory },
      database: this.#grounds.database ? 'PostgreSQL' : 'PGlite',
    });
  }

  get #elapsed(): number {
    return (clock.monotonic() - this.#startedAt) / 1000;
  }

  /** What goes on besides the clients until the time is over. */
  #disturbing(signal: AbortSignal): Promise<void>[] {
    if (this.#options.killEveryMs === undefined) return [];
    return [this.#killer.run(signal), this.#lulls.run(signal)];
  }

  async #passTime(): Promise<void> {
    const { seconds, outageMs } = this.#options;
    if (outageMs === undefined) return this.#workFor(seconds);
    await this.#workFor(seconds / 2);
    if (this.#options.signal?.aborted) return;
    const [{ api }, { engine }, journal] = [this.#site, this.#grounds, this.#journal];
    const times = { lengthMs: outageMs, patienceMs };
    this.#outage = await breakEngine({ engine, api, journal, clock, ...times });
    this.#strays.start();
    await this.#workFor(seconds / 2);
  }

  async #workFor(seconds: number): Promise<void> {
    const { untilCompleteSeconds = 0, signal } = this.#options;
    const startedAt = this.#elapsed;
    const goesOn = (): boolean => {
      const passed = this.#elapsed - startedAt;
      if (signal?.aborted || passed < seconds) return !signal?.aborted;
      return passed < untilCompleteSeconds && !this.#complete;
    };
    while (goesOn()) await clock.sleep(lookEveryMs);
  }

  /** Whether there was anything to find. */
  get #complete(): boolean {
    const killed = this.#killer.kills.some(({ after }) => after === 'warm');
    const warm = this.#journal.creates.some((create) => create.warm);
    return warm && (killed || this.#options.killEveryMs === undefined);
  }

  async #reportRegularly(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#progress('running');
      await clock.sleep(progressMs, signal).catch(() => undefined);
    }
  }

  #progress(what: string): void {
    const { creates } = this.#journal;
    const warm = creates.filter((create) => create.warm).length;
    this.#options.progress?.(
      `${String(Math.round(this.#elapsed)).padStart(4)} s  ${what}: ` +
        `${String(creates.length)} creates, ${String(warm)} warm; ` +
        `kills: ${String(this.#killer.kills.length)}; ` +
        `findings: ${String(this.#findings.all().length)}`,
    );
  }
}
