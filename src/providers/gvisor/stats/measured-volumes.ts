import type Docker from 'dockerode';
import type { Clock } from '../../../base/clock.ts';
import { untilAborted } from '../../../base/until-aborted.ts';
import { volumeSizes } from '../disk/volume-sizes.ts';

/** The engine goes through every file of every volume, so it is not asked more often than this. */
const holdsMs = 60_000;

type Sizes = ReadonlyMap<string, number>;

/**
 * What volumes without a disk of their own hold. One measurement serves all who ask within a minute; while the next
 * one runs, the last one answers.
 */
export class MeasuredVolumes implements Disposable {
  readonly #docker: Docker;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  #known: { readonly sizes: Sizes; readonly at: number } | undefined;
  #running: Promise<Sizes> | undefined;

  constructor(docker: Docker, clock: Clock) {
    this.#docker = docker;
    this.#clock = clock;
  }

  /** Null for one that was made after the last measurement. `signal` ends the caller's waiting only. */
  async sizeOf(volume: string, signal: AbortSignal): Promise<number | null> {
    const known = this.#known;
    const fresh = known && this.#clock.monotonic() - known.at < holdsMs;
    if (fresh) return known.sizes.get(volume) ?? null;
    const running = (this.#running ??= this.#measure());
    // One that nobody waits for may fail: the next who asks begins another.
    running.catch(() => undefined);
    const sizes = known?.sizes ?? (await untilAborted(running, signal));
    return sizes.get(volume) ?? null;
  }

  async #measure(): Promise<Sizes> {
    try {
      const sizes = await volumeSizes(this.#docker, this.#stop.signal);
      this.#known = { sizes, at: this.#clock.monotonic() };
      return sizes;
    } finally {
      this.#running = undefined;
    }
  }

  [Symbol.dispose](): void {
    this.#stop.abort(new Error('no longer measured'));
  }
}
