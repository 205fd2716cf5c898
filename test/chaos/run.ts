import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { systemClock as clock } from '../../src/base/clock.ts';
import { ApiClient } from './api-client.ts';
import { ChaosClient } from './client.ts';
import { Faults } from './faults.ts';
import type { Breakable, FaultKind } from './faults.ts';
import { Findings } from './findings.ts';
import { releaseDisks } from './host-disks.ts';
import { Ledger } from './model/ledger.ts';
import type { WorkspaceRecord } from './model/workspace-record.ts';
import { Operations } from './operations.ts';
import { processesWith } from './processes.ts';
import { Random } from './random.ts';
import type { ChaosReport } from './report.ts';
import { ServerKeeper } from './server-keeper.ts';
import { Tally } from './tally.ts';
import { verify } from './verify.ts';
import type { Verified } from './verify.ts';
import { openWayIn } from './way-in.ts';

/** Where the server under test runs: an engine and a database that nobody else uses, to be broken at will. */
export interface Grounds {
  readonly engine: Breakable & {
    readonly socket: string;
    /** The network namespace that is its host's network; the server runs in it, too. */
    readonly namespace: string;
    readonly docker: Docker;
    /** Containers that it has lost sight of. */
    strays(): Promise<readonly string[]>;
    /** Those of workspaces in its host's firewall. */
    rules(): Promise<readonly string[]>;
  };
  /** None: PGlite, inside the server. */
  readonly database?: Breakable & { readonly url: string };
}

export interface ChaosOptions {
  /** How long faults go on; the closing check comes after it. */
  readonly seconds: number;
  /** Go on for up to this long until every kind of operation was acknowledged and every fault has struck. */
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

const progressMs = 5_000;
const lookEveryMs = 100;
/** In a namespace where nobody else has one. */
const serverPort = 7_700;

/** One whole run: clients and faults at the same time, then the closing check. Leaves nothing running. */
export async function runChaos(options: ChaosOptions, grounds: Grounds): Promise<ChaosReport> {
  await using started = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'emergent-chaos-'));
  let keep = true;
  started.defer(async () => {
    if (keep) options.progress?.(`The server's log and data are kept in ${directory}.`);
    else await rm(directory, { recursive: true, force: true });
  });
  const way = started.use(
    await openWayIn(grounds.engine.namespace, serverPort, join(directory, 'way-in.sock')),
  );
  const run = started.use(new ChaosRun(options, grounds, directory, way.port));
  await run.strike();
  if (options.signal?.aborted) keep = false;
  options.signal?.throwIfAborted();
  const report = await run.close();
  keep = !report.clean;
  return report;
}

/** The parts of one run. */
class ChaosRun implements AsyncDisposable {
  readonly #options: ChaosOptions;
  readonly #grounds: Grounds;
  readonly #directory: string;
  readonly #dataDir: string;
  readonly #diskDir: string;
  readonly #findings = new Findings(() => clock.now());
  readonly #ledger = new Ledger();
  readonly #tally = new Tally();
  readonly #api: ApiClient;
  readonly #operations: Operations;
  readonly #server: ServerKeeper;
  readonly #faults: Faults;
  readonly #clients: readonly ChaosClient[];
  #startedAt = clock.monotonic();

  constructor(options: ChaosOptions, grounds: Grounds, directory: string, port: number) {
    this.#options = options;
    this.#grounds = grounds;
    this.#directory = directory;
    this.#dataDir = join(directory, 'data');
    this.#diskDir = join(directory, 'disks');
    const token = randomBytes(24).toString('hex');
    this.#api = new ApiClient(`http://127.0.0.1:${String(port)}`, token);
    const [findings, tally, server] = [this.#findings, this.#tally, this.#keeper(token)];
    this.#server = server;
    this.#operations = new Operations({ api: this.#api, ledger: this.#ledger, findings, tally });
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
    await this.#server.start();
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
      ...{ api: this.#api, ledger: this.#ledger, operations: this.#operations, clock },
      findings: this.#findings,
      premises: {
        docker: this.#grounds.engine.docker,
        diskDir: this.#diskDir,
        rules: () => this.#grounds.engine.rules(),
      },
      errorsExplained: this.#options.faults.some((kind) => kind !== 'server'),
    });
    const strays = await this.#grounds.engine.strays();
    await this.#server.stop();
    for (const pid of await processesWith(`EMERGENT_DATA_DIR=${this.#dataDir}`)) {
      this.#findings.add('leak', `process ${pid}`, 'a server process is left');
    }
    return this.#report(operations as ChaosReport['operations'], refusals, { ...verified, strays });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    await releaseDisks(this.#diskDir);
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

  #keeper(token: string): ServerKeeper {
    const { root } = this.#options;
    const { engine, database } = this.#grounds;
    const env = {
      EMERGENT_DATA_DIR: this.#dataDir,
      WORKSPACE_DISK_DIR: this.#diskDir,
      EMERGENT_PORT: String(serverPort),
      EMERGENT_ADMIN_TOKEN: token,
      EMERGENT_LOG_LEVEL: 'info',
      WORKSPACE_MAX_CONCURRENT: '200',
      DOCKER_HOST: `unix://${engine.socket}`,
      ...(database && { DATABASE_URL: database.url }),
    };
    const log = join(this.#directory, 'server.log');
    const { namespace } = engine;
    const place = { log, namespace, ...(root !== undefined && { root }) };
    return new ServerKeeper({ env, ...place }, this.#findings);
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
      server_starts: this.#server.starts,
      findings,
      workspaces: this.#ledger.workspaces.length,
      files_checked: verified.files,
      recovered: verified.recovered,
      lost_by_engine: verified.strays,
      longest_acknowledged_ms: Math.max(
        ...Object.values(operations).map(({ longestMs }) => longestMs),
      ),
      consistent_after_seconds: (verified.consistentAt - this.#faults.lastAt) / 1000,
      kept: clean ? null : this.#directory,
    };
  }
}
