import type { Clock } from '../../src/base/clock.ts';
import type { Complaints } from '../chaos/findings.ts';
import type { Grounds } from '../chaos/grounds.ts';
import type { Stray } from '../support/engine-strays.ts';
import { until } from '../chaos/until.ts';

const lookEveryMs = 1_000;
const goneMs = 60_000;

/**
 * Watches for sandboxes that the engine has forgotten: one that is stopped while it starts a container knows it as one
 * that never ran. It is removed, and its sandbox runs on, unseen by the engine, until the server ends it.
 */
export class StrayWatch {
  readonly #engine: Grounds['engine'];
  readonly #clock: Clock;
  readonly #over = new AbortController();
  readonly #seen = new Set<string>();
  #looking: Promise<void> = Promise.resolve();

  constructor(engine: Grounds['engine'], clock: Clock) {
    this.#engine = engine;
    this.#clock = clock;
  }

  /** From here on, until it is stopped. */
  start(): void {
    this.#looking = this.#look(this.#over.signal);
    this.#looking.catch(() => undefined);
  }

  /** To be called when all workspaces are gone. All that were seen. */
  async stop(findings: Complaints<'leak'>): Promise<readonly string[]> {
    this.#over.abort();
    await this.#looking;
    await until(async () => (await this.#sandboxes()).length === 0, goneMs);
    for (const { id } of await this.#sandboxes()) {
      findings.add('leak', `container ${id}`, 'its sandbox runs, and the engine does not know it');
    }
    return [...this.#seen];
  }

  /** Without those whose sandbox has ended and whose shim containerd has kept: that is between the two of them. */
  async #sandboxes(): Promise<readonly Stray[]> {
    return (await this.#engine.strays()).filter(({ hasSandbox }) => hasSandbox);
  }

  /** None while the engine is restarted. */
  async #ids(): Promise<readonly string[]> {
    const strays = await this.#engine.strays().catch(() => []);
    return strays.map(({ id }) => id);
  }

  /** One that is seen but once is being removed in order. */
  async #look(signal: AbortSignal): Promise<void> {
    let before = new Set<string>();
    while (!signal.aborted) {
      const ids = await this.#ids();
      for (const id of ids) if (before.has(id)) this.#seen.add(id);
      before = new Set(ids);
      await this.#clock.sleep(lookEveryMs, signal).catch(() => undefined);
    }
  }
}
