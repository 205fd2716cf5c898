import type { Clock } from '../../src/base/clock.ts';
import { describe, json } from '../chaos/api-client.ts';
import type { ApiClient, Reply, Row } from '../chaos/api-client.ts';
import type { Complaints } from '../chaos/findings.ts';
import type { Random } from '../chaos/random.ts';
import type { Create, Journal, Use } from './journal.ts';

export interface LoadClientOptions {
  readonly number: number;
  readonly api: ApiClient;
  readonly journal: Journal;
  /** Who was given which workspace, by its id; all clients share it. */
  readonly owners: Map<string, string>;
  readonly findings: Complaints<'twice'>;
  readonly random: Random;
  readonly clock: Clock;
  /** Resolves when it is time to work. */
  readonly pass: () => Promise<void>;
}

const holdMs = 1_000;
const pauseMs = 300;
/** A client that is refused does not come again at once. */
const refusedPauseMs = 400;

/**
 * One client: creates a workspace as the server likes, leaves a mark that is its own, finds it again, destroys the
 * workspace, and begins anew.
 */
export class LoadClient {
  readonly #options: LoadClientOptions;
  #sequence = 0;

  constructor(options: LoadClientOptions) {
    this.#options = options;
  }

  /** Until the signal aborts; what was begun is then still ended in order. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, pass } = this.#options;
    for (;;) {
      await pass();
      if (signal.aborted) return;
      const served = await this.#cycle();
      const pause = served ? random.integer(0, pauseMs) : random.integer(1, 2 * refusedPauseMs);
      await clock.sleep(pause, signal).catch(() => undefined);
    }
  }

  async #cycle(): Promise<boolean> {
    const { clock, random, number } = this.#options;
    this.#sequence += 1;
    const mark = `mark-${String(number)}-${String(this.#sequence)}`;
    const workspace = await this.#create(mark);
    if (workspace.id === undefined) return false;
    // What lies there before shows as well: nothing may.
    const write = `ls -A /workspace && printf ${mark} > /workspace/${mark} && cat /workspace/*`;
    await this.#command(workspace, 'first command', write, mark);
    await clock.sleep(random.integer(0, holdMs));
    const look = 'ls -A /workspace && cat /workspace/*';
    await this.#command(workspace, 'second command', look, `${mark}\n${mark}`);
    await this.#use(workspace, 'destroy', 'DELETE', '', undefined, () => undefined);
    return true;
  }

  async #create(mark: string): Promise<Create> {
    const { api, clock, findings, journal, owners } = this.#options;
    const sentAt = clock.monotonic();
    const reply = await api.send('POST', '', { metadata: { load: mark } });
    const answeredAt = clock.monotonic();
    const row = reply.outcome === 'acknowledged' ? (json(reply) as Row) : undefined;
    const create = { id: row?.id, warm: isWarm(row), reply, sentAt, answeredAt };
    journal.creates.push(create);
    if (row) {
      const other = owners.get(row.id);
      findings.add('twice', row.id, other && `handed out for ${other} and for ${mark}`);
      owners.set(row.id, mark);
    }
    return create;
  }

  async #command(
    workspace: Create,
    what: Use['what'],
    command: string,
    expected: string,
  ): Promise<void> {
    const { findings } = this.#options;
    await this.#use(workspace, what, 'POST', '/bash', { command }, (reply) => {
      const { stdout, exit_code: code } = json(reply) as { stdout: string; exit_code: number };
      if (stdout === expected && code === 0) return undefined;
      const complaint = `expected ${JSON.stringify(expected)}: ${reply.body.toString()}`;
      if (code === 0) findings.add('twice', workspace.id ?? '', `held something, ${complaint}`);
      return complaint;
    });
  }

  async #use(
    workspace: Create,
    what: Use['what'],
    method: string,
    path: string,
    body: unknown,
    check: (reply: Reply) => string | undefined,
  ): Promise<void> {
    const { api, clock, journal } = this.#options;
    const sentAt = clock.monotonic();
    const reply = await api.send(method, `/${workspace.id ?? ''}${path}`, body);
    const answeredAt = clock.monotonic();
    const complaint = reply.outcome === 'acknowledged' ? check(reply) : describe(reply);
    journal.uses.push({ what, workspace, sentAt, answeredAt, complaint });
  }
}

/** Whether the sandbox had been waiting in a pool, and not only its row. */
function isWarm(row: Row | undefined): boolean {
  const attempts = row?.metadata['attempts'] as readonly { result: string }[] | undefined;
  return attempts?.at(-1)?.result === 'adopted';
}
