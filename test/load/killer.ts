import { access } from 'node:fs/promises';
import type Docker from 'dockerode';
import type { Clock } from '../../src/base/clock.ts';
import { withDeadline } from '../../src/base/deadline.ts';
import { reasonOf } from '../../src/base/reason.ts';
import { commandLine } from '../../src/host/processes.ts';
import { json } from '../chaos/api-client.ts';
import type { ApiClient, Row } from '../chaos/api-client.ts';
import type { Random } from '../chaos/random.ts';
import { killKinds } from './kills.ts';
import type { Kill, KillKind } from './kills.ts';

export interface KillerOptions {
  readonly api: ApiClient;
  readonly docker: Docker;
  readonly random: Random;
  readonly clock: Clock;
  readonly everyMs: number;
}

/** The engine itself waits ten seconds for the end of a container before it ends its process. */
const killMs = 40_000;
const lookEveryMs = 5;

/** Ends sandboxes that wait in a warm pool, one after the other, until it is told to stop. */
export class Killer {
  readonly kills: Kill[] = [];
  readonly #options: KillerOptions;

  constructor(options: KillerOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, everyMs, random } = this.#options;
    for (;;) {
      await clock.sleep(everyMs * (0.5 + random.next()), signal).catch(() => undefined);
      if (signal.aborted) return;
      const victim = random.pick(await this.#warm());
      const kind = random.pick(killKinds);
      if (victim && kind) await this.#strike(victim.id, kind);
    }
  }

  of(id: string): readonly Kill[] {
    return this.kills.filter((kill) => kill.id === id);
  }

  async #warm(): Promise<readonly Row[]> {
    return this.#options.api.rows('warm');
  }

  async #strike(id: string, kind: KillKind): Promise<void> {
    const { clock, docker } = this.#options;
    // By the engine's id: a container that is made anew for this workspace has another one.
    const found = await docker
      .getContainer(`emergent-${id}`)
      .inspect()
      .catch(() => undefined);
    if (!found?.State.Running) return;
    const beganAt = clock.monotonic();
    const failure = await withDeadline('killing a sandbox', killMs, (signal) =>
      kind === 'engine'
        ? this.#killByEngine(found.Id, found.State.Pid)
        : this.#endProcess(found.State.Pid, signal),
    ).then(() => undefined, reasonOf);
    const deadAt = failure === undefined ? clock.monotonic() : undefined;
    const kill = { id, kind, beganAt, deadAt, after: await this.#after(id) };
    this.kills.push({ ...kill, ...(failure !== undefined && { failure }) });
  }

  /** A frozen sandbox does not hear the engine: the call would wait until somebody wakes it. */
  async #killByEngine(containerId: string, pid: number): Promise<void> {
    process.kill(pid, 'SIGCONT');
    await this.#options.docker.getContainer(containerId).kill();
  }

  async #endProcess(pid: number, signal: AbortSignal): Promise<void> {
    const [program = 'nothing'] = await commandLine(pid);
    if (!program.startsWith('runsc')) throw new Error(`${String(pid)} runs ${program}`);
    process.kill(pid, 'SIGKILL');
    while (await runs(pid)) await this.#options.clock.sleep(lookEveryMs, signal);
  }

  async #after(id: string): Promise<Kill['after']> {
    const reply = await this.#options.api.send('GET', `/${id}`);
    if (reply.status === 404) return 'gone';
    // Without an answer nobody can say that it was still waiting.
    if (reply.outcome !== 'acknowledged') return 'taken';
    return (json(reply) as Row).status === 'warm' ? 'warm' : 'taken';
  }
}

async function runs(pid: number): Promise<boolean> {
  return access(`/proc/${String(pid)}`).then(
    () => true,
    () => false,
  );
}
