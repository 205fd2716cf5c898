import type { Clock } from '../../src/base/clock.ts';
import type { WorkspaceRecord } from './model/workspace-record.ts';
import type { Operations } from './operations.ts';
import type { Random } from './random.ts';
import type { OperationKind } from './tally.ts';

export interface ChaosClientOptions {
  readonly number: number;
  readonly operations: Operations;
  readonly random: Random;
  readonly clock: Clock;
  /** Resolves while a server is up: a client of a service that is down waits, too. */
  readonly serverUp: () => Promise<void>;
  /** Workspaces of the other clients, to work in besides one's own. */
  readonly neighbours: () => readonly WorkspaceRecord[];
}

const maxWorkspaces = 2;
const filesPerClient = 3;
const pauseMs = 150;

type Weights = Partial<Record<OperationKind, number>>;

/** What a client does next in a workspace, by what it knows of it. */
const inReady: Weights = {
  ...{ write: 7, bash: 4, read: 4, status: 1, process: 1.5, output: 2 },
  ...{ stop: 2, destroy: 0.6 },
};
const inStopped: Weights = { resume: 5, status: 1, destroy: 0.4 };
const inDoubt: Weights = { status: 3, stop: 1, resume: 2, write: 2, read: 2, destroy: 0.3 };
const inDoomed: Weights = { destroy: 4, status: 1 };

/**
 * One client: random operations, one after the other, mostly on workspaces of its own, whose status only it
 * changes. In those of others it runs commands and writes files of its own, while their owner stops or destroys
 * them.
 */
export class ChaosClient {
  readonly own = new Set<WorkspaceRecord>();
  readonly #options: ChaosClientOptions;
  readonly #random: Random;
  readonly #operations: Operations;
  readonly #unanswered = new Set<string>();
  readonly #gone: WorkspaceRecord[] = [];
  #sequence = 0;

  constructor(options: ChaosClientOptions) {
    this.#options = options;
    this.#random = options.random;
    this.#operations = options.operations;
  }

  /** Until the signal aborts; the operation under way then still ends. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#options.serverUp();
      if (signal.aborted) return;
      await this.#step();
      await this.#options.clock.sleep(this.#random.integer(0, pauseMs));
    }
  }

  async #step(): Promise<void> {
    for (const workspace of this.own) if (workspace.existence === 'gone') this.#bury(workspace);
    const [unanswered] = this.#unanswered;
    if (unanswered !== undefined && this.#random.chance(0.5)) {
      await this.#lookFor(unanswered);
    } else if (this.own.size === 0 || (this.own.size < maxWorkspaces && this.#random.chance(0.2))) {
      await this.#create();
    } else if (this.#random.chance(0.12)) {
      await this.#visit();
    } else {
      await this.#work();
    }
  }

  #bury(workspace: WorkspaceRecord): void {
    this.own.delete(workspace);
    this.#gone.push(workspace);
  }

  async #create(): Promise<void> {
    const tag = this.#mark('create');
    const network = this.#random.chance(0.5) ? 'nat' : 'isolated';
    const created = await this.#operations.create(tag, network);
    if (created === 'unknown') this.#unanswered.add(tag);
    else if (created !== 'refused') this.own.add(created);
  }

  async #lookFor(tag: string): Promise<void> {
    const found = await this.#operations.adopt(tag);
    if (found === 'changing') return;
    this.#unanswered.delete(tag);
    if (found) this.own.add(found);
  }

  /** A tool in a neighbour's workspace; or a look at one of its own that is gone and must stay so. */
  async #visit(): Promise<void> {
    const gone = this.#random.pick(this.#gone);
    if (gone && this.#random.chance(0.3)) {
      await this.#operations.status(gone);
      return;
    }
    const neighbour = this.#random.pick(this.#options.neighbours());
    if (!neighbour) return;
    const operation = this.#random.weighted({ bash: 1, write: 2, read: 1 });
    await this.#perform(operation, neighbour);
  }

  async #work(): Promise<void> {
    const workspace = this.#random.pick([...this.own]);
    if (!workspace) return;
    const operation = this.#random.weighted(weightsFor(workspace));
    await this.#perform(operation, workspace);
  }

  async #perform(operation: OperationKind, workspace: WorkspaceRecord): Promise<void> {
    switch (operation) {
      case 'write':
        await this.#operations.write(workspace, this.#path(), this.#content());
        break;
      case 'read':
        await this.#operations.read(workspace, this.#path());
        break;
      case 'bash':
        await this.#operations.bash(workspace, this.#mark('bash'));
        break;
      case 'process':
        await this.#startProcess(workspace);
        break;
      case 'output':
        await this.#readProcess(workspace);
        break;
      case 'status':
        await this.#status(workspace);
        break;
      case 'create':
        await this.#create();
        break;
      case 'stop':
      case 'resume':
      case 'recover':
      case 'destroy':
        await this.#operations.change(operation, workspace);
        break;
    }
  }

  async #startProcess(workspace: WorkspaceRecord): Promise<void> {
    const lines = this.#random.integer(1, 5_000);
    await this.#operations.startProcess(workspace, lines, this.#random.integer(0, 4));
  }

  async #readProcess(workspace: WorkspaceRecord): Promise<void> {
    const process = this.#random.pick(workspace.processes.slice(-4));
    if (process) await this.#operations.readProcess(workspace, process);
    else await this.#startProcess(workspace);
  }

  /** A workspace that shows an error is brought back, as its owner would. */
  async #status(workspace: WorkspaceRecord): Promise<void> {
    const row = await this.#operations.status(workspace);
    if (row?.status === 'error') await this.#operations.change('recover', workspace);
  }

  #path(): string {
    const file = String(this.#random.integer(0, filesPerClient));
    return `/workspace/client-${String(this.#options.number)}/file-${file}`;
  }

  /** Mostly small; now and then large enough to be cut in the middle. */
  #content(): Buffer {
    const size = this.#random.chance(0.1)
      ? this.#random.integer(100_000, 2_000_000)
      : this.#random.integer(0, 20_000);
    return Buffer.concat([Buffer.from(`${this.#mark('write')}\n`), this.#random.bytes(size)]);
  }

  #mark(what: string): string {
    this.#sequence += 1;
    return `${what}-${String(this.#options.number)}-${String(this.#sequence)}`;
  }
}

function weightsFor(workspace: WorkspaceRecord): Weights {
  if (workspace.existence !== 'exists') return inDoomed;
  if (workspace.rest === 'ready') return inReady;
  return workspace.rest === 'stopped' ? inStopped : inDoubt;
}
