import type { Clock } from '../../base/clock.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { AttachOptions, OutputEvent, ProcessInfo, ProcessSignal } from '../../domain/exec.ts';
import type { HostProcess } from './host-process.ts';
import type { OutputLog } from './output-log.ts';

/** How many ended processes are remembered, with their output. */
const rememberedEnded = 32;
/** How often a group without a leader is looked at: the system tells only a parent of an end. */
const pollMs = 20;

interface Entry {
  readonly id: string | undefined;
  readonly argv: readonly string[];
  readonly detached: boolean;
  readonly startedAt: Date;
  readonly process: HostProcess;
  readonly log: OutputLog;
  endedAt: Date | null;
}

/** The processes of one sandbox: those that may run, and the last that ended among those with an id. */
export class ProcessTable {
  readonly #clock: Clock;
  readonly #entries = new Set<Entry>();
  /** Ids of processes that are being started. */
  readonly #reserved = new Set<string>();
  /** How many are ending everything at the moment. */
  #emptying = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the id before the process starts: of two at once, one is refused. */
  reserve(id: string | undefined): Disposable {
    if (this.#emptying > 0) {
      throw new EmergentError('wrong_state', 'everything in the sandbox is being ended');
    }
    if (id === undefined) return { [Symbol.dispose]: () => undefined };
    if (this.#reserved.has(id) || [...this.#entries].some((entry) => entry.id === id)) {
      throw new EmergentError('invalid_value', `a process with the id ${id} exists`);
    }
    this.#reserved.add(id);
    return { [Symbol.dispose]: () => this.#reserved.delete(id) };
  }

  add(entry: Omit<Entry, 'startedAt' | 'endedAt'>): void {
    this.#forgetEnded();
    const added: Entry = { ...entry, startedAt: this.#clock.now(), endedAt: null };
    this.#entries.add(added);
    void entry.process.ended.then(() => {
      added.endedAt = this.#clock.now();
    });
    // Its start began before, so whoever ends everything has not seen it.
    if (this.#emptying > 0) void entry.process.kill('SIGKILL');
  }

  list(): readonly ProcessInfo[] {
    return [...this.#entries].flatMap((entry) =>
      entry.id === undefined ? [] : [infoOf(entry, entry.id)],
    );
  }

  /** The process groups that have members. */
  groups(): readonly number[] {
    return [...this.#entries].flatMap(({ process }) => (process.hasGroup ? [process.pid] : []));
  }

  find(id: string): ProcessInfo {
    return infoOf(this.#find(id), id);
  }

  attach(id: string, options: AttachOptions, signal: AbortSignal): AsyncIterable<OutputEvent> {
    const { log } = this.#find(id);
    log.requireOffset(options.offset);
    return { [Symbol.asyncIterator]: () => log.read(options, signal) };
  }

  async signal(id: string, name: ProcessSignal): Promise<void> {
    const { process } = this.#find(id);
    if (!process.hasGroup) throw new EmergentError('process_not_found', `process ${id} has ended`);
    await process.kill(name);
  }

  async input(id: string, data: Uint8Array): Promise<void> {
    const { process, log } = this.#find(id);
    if (log.exit) throw new EmergentError('process_not_found', `process ${id} has ended`);
    await process.writeStdin(data);
  }

  closeInput(id: string): void {
    this.#find(id).process.closeInput();
  }

  /** SIGTERM to all, and SIGKILL to what is left after the grace; then none is remembered. */
  async terminate(graceMs: number, signal: AbortSignal): Promise<void> {
    await this.#empty(graceMs, signal);
    this.#entries.clear();
  }

  /** The same, remembering them; meanwhile none can be started. */
  async endAll(graceMs: number, signal: AbortSignal): Promise<void> {
    this.#emptying++;
    try {
      await this.#empty(graceMs, signal);
      const detached = [...this.#entries].filter((entry) => entry.detached);
      await Promise.all(detached.map(({ process }) => process.told));
    } finally {
      this.#emptying--;
    }
  }

  async #empty(graceMs: number, signal: AbortSignal): Promise<void> {
    const processes = [...this.#entries].map(({ process }) => process);
    const alive = (): readonly HostProcess[] => processes.filter(({ hasGroup }) => hasGroup);
    if (graceMs > 0) await killAll(alive(), 'SIGTERM');
    const until = this.#clock.monotonic() + graceMs;
    while (alive().length > 0 && this.#clock.monotonic() < until) {
      await this.#clock.sleep(pollMs, signal);
    }
    await killAll(alive(), 'SIGKILL');
    await Promise.all(processes.map(({ ended }) => ended));
  }

  #find(id: string): Entry {
    const entry = [...this.#entries].find((each) => each.id === id);
    if (entry) return entry;
    throw new EmergentError('process_not_found', `there is no process with the id ${id}`);
  }

  #forgetEnded(): void {
    const ended = [...this.#entries].filter(({ process }) => !process.hasGroup);
    const named = ended.filter(({ id }) => id !== undefined);
    const excess = named.slice(0, Math.max(0, named.length - rememberedEnded + 1));
    for (const entry of ended) {
      if (entry.id === undefined || excess.includes(entry)) this.#entries.delete(entry);
    }
  }
}

function infoOf(entry: Entry, id: string): ProcessInfo {
  const { argv, detached, startedAt, endedAt, process, log } = entry;
  return {
    id,
    pid: process.pid,
    argv,
    detached,
    startedAt,
    endedAt: log.exit && endedAt,
    exit: log.exit,
    outputBytes: log.bytes,
    droppedBytes: log.dropped,
  };
}

async function killAll(processes: readonly HostProcess[], signal: ProcessSignal): Promise<void> {
  await Promise.all(processes.map((process) => process.kill(signal)));
}
