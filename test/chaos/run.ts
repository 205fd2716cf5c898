import { systemClock as clock } from '../../src/base/clock.ts';
import { ChaosClient } from './client.ts';
import { Faults } from './faults.ts';
import type { FaultKind } from './faults.ts';
import { Findings } from './findings.ts';
import type { Grounds } from './grounds.ts';
import { Ledger } from './model/ledger.ts';
import type { WorkspaceRecord } from './model/workspace-record.ts';
import { likeClients, Operations } from './operations.ts';
import { Pool } from './pool.ts';
import { Random } from './random.ts';
import type { ChaosReport } from './report.ts';
import { Site } from './site.ts';
import { Tally } from './tally.ts';
import { verify } from './verify.ts';
import type { Verified } from './verify.ts';

export interface ChaosOptions {
  /** How long faults go on; the closing check comes after it. */
  readonly seconds: number;
  /** Go on for up to this long until every kind of operation was acknowledged and every fault has struck often enough. */
  readonly untilCompleteSeconds?: number;
  readonly clients: number;
  readonly seed: number;
  readonly faults: readonly FaultKind[];
  /** The checkout whose server is tested; this one unless told. */
  readonly root?: string;
  /** Told how it goes, every few seconds. */
  readonly progress?: (line: string) => void;
  /** Ends the run early, without the closing check and with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A warm pool of what clients ask for with network `nat`; with the other one they get theirs cold. */
const settings = { ...likeClients, WORKSPACE_WARM_POOL_SIZE: '2' };
const progressMs = 5_000;
const lookEveryMs = 100;

/** One whole run: clients and faults at the same time, then the closing check. Leaves nothing running. */
export async function runChaos(options: ChaosOptions, grounds: Grounds): Promise<ChaosReport> {
  const findings = new Findings(() => clock.now());
  const { root, progress } = options;
  await using site = await Site.open({ grounds, findings, settings, root, progress });
  const run = new ChaosRun(options, grounds, site, findings);
  await run.strike();
  if (options.signal?.aborted) site.forget();
  options.signal?.throwIfAborted();
  const report = await run.close();
  if (report.clean) site.forget();
  return report;
}

/** The parts of one run. */
class ChaosRun {
  readonly #options: ChaosOptions;
  readonly #grounds: Grounds;
  readonly #site: Site;
  readonly #findings: Findings;
  readonly #ledger = new Ledger();
  readonly #tally = new Tally();
  readonly #operations: Operations;
  readonly #faults: Faults;
  readonly #clients: readonly ChaosClient[];
  #startedAt = clock.monotonic();

  constructor(options: ChaosOptions, grounds: Grounds, site: Site, findings: Findings) {
    this.#options = options;
    this.#grounds = grounds;
    this.#site = site;
    this.#findings = findings;
    const [{ api, server }, tally] = [site, this.#tally];
    this.#operations = new Operations({ api, ledger: this.#ledger, findings, tally });
    const random = new Random(options.seed);
    this.#faults = new Faults({
      ...{ server, clock, kinds: options.faults, random: random.fork(0) },
      ...{ acknowledged: () => tally.acknowledged, warmUp: options.clients },
      overdue: () => this.#elapsed > options.seconds,
      engine: grounds.engine,
      ...(grounds.database && { database: grounds.database }),
    });
    const others = (number: number): WorkspaceRecord[] =>
      this.#clients.flatMap((client, at) => (at + 1 === number ? [] : [...client.own]));
    this.#clients = Array.from({ length: options.clients }, (_, at) => {
      const number = at + 1;
      return new ChaosClient({
        ...{ number, operations: this.#operations, clock, random: random.fork(number) },
        serverUp: () => server.whenUp(),
        neighbours: () => others(number),
      });
    });
  }

  /** Clients work until the faults end, and faults until the time is over; then everything is whole again. */
  async strike(): Promise<void> {
    await this.#site.server.start();
    this.#startedAt = clock.monotonic();
    const over = new AbortController();
    const stopClients = new AbortController();
    const timing = this.#passTime().finally(() => {
      over.abort();
    });
    const reporting = this.#reportRegularly(stopClients.signal);
    const working = this.#clients.map((client) => client.run(stopClients.signal));
    try {
      await Promise.race([this.#faults.run(over.signal), Promise.all(working)]);
    } finally {
      stopClients.abort();
    }
    await Promise.all([...working, reporting, timing]);
  }

  /** The closing check. What it does itself is not counted among the operations. */
  async close(): Promise<ChaosReport> {
    this.#progress('checking');
    const operations = structuredClone(Object.fromEntries(this.#tally.operations));
    const refusals = Object.fromEntries(this.#tally.refusals);
    const verified = await verify({
      pool: new Pool(this.#site.api),
      ...{ api: this.#site.api, ledger: this.#ledger, operations: this.#operations, clock },
      ...{ findings: this.#findings, premises: this.#site.premises },
      errorsExplained: this.#options.faults.some((kind) => kind !== 'server'),
    });
    const strays = (await this.#grounds.engine.strays()).map(({ id }) => id);
    await this.#site.server.stop();
    for (const pid of await this.#site.serversLeft()) {
      this.#findings.add('leak', `process ${pid}`, 'a server process is left');
    }
    return this.#report(operations as ChaosReport['operations'], refusals, { ...verified, strays });
  }

  get #elapsed(): number {
    return (clock.monotonic() - this.#startedAt) / 1000;
  }

  async #passTime(): Promise<void> {
    const { seconds, untilCompleteSeconds = 0, signal } = this.#options;
    const startedAt = this.#elapsed;
    const goesOn = (): boolean => {
      const passed = this.#elapsed - startedAt;
      if (signal?.aborted || passed < seconds) return !signal?.aborted;
      return passed < untilCompleteSeconds && !(this.#tally.complete && this.#faults.complete);
    };
    while (goesOn()) await clock.sleep(lookEveryMs);
  }

  async #reportRegularly(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#progress('running');
      await clock.sleep(progressMs, signal).catch(() => undefined);
    }
  }

  #progress(what: string): void {
    const faults = [...this.#faults.counts].map(([kind, count]) => `${kind} ${String(count)}`);
    this.#options.progress?.(
      `${String(Math.round(this.#elapsed)).padStart(4)} s  ${what}: ` +
        `${String(this.#tally.total)} operations; faults: ${faults.join(', ')}; ` +
        `findings: ${String(this.#findings.all().length)}`,
    );
  }

  #report(
    operations: ChaosReport['operations'],
    refusals: ChaosReport['refusals'],
    verified: Verified & { readonly strays: readonly string[] },
  ): ChaosReport {
    const findings = this.#findings.all();
    const clean = findings.length === 0;
    return {
      seed: this.#options.seed,
      database: this.#grounds.database ? 'PostgreSQL' : 'PGlite',
      clients: this.#options.clients,
      seconds: this.#elapsed,
      clean,
      operations,
      refusals,
      faults: Object.fromEntries(this.#faults.counts) as ChaosReport['faults'],
      server_starts: this.#site.server.starts,
      findings,
      workspaces: this.#ledger.workspaces.length,
      files_checked: verified.files,
      recovered: verified.recovered,
      lost_by_engine: verified.strays,
      engine_miscounted: verified.miscounted,
      longest_acknowledged_ms: Math.max(
        ...Object.values(operations).map(({ longestMs }) => longestMs),
      ),
      consistent_after_seconds: (verified.consistentAt - this.#faults.lastAt) / 1000,
      kept: clean ? null : this.#site.directory,
    };
  }
}
