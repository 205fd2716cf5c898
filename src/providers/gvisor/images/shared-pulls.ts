import type Docker from 'dockerode';
import type { Clock } from '../../../base/clock.ts';
import { untilAborted } from '../../../base/until-aborted.ts';
import type { StartProgress } from '../../../domain/provider.ts';
import { pullImage } from './pull.ts';
import type { PullLimits } from './pull.ts';

/** Progress is told no more often than this, but for its end. */
const tellEveryMs = 2_000;

type OnProgress = (progress: StartProgress) => void;

interface Pull {
  readonly done: Promise<void>;
  readonly cancelled: AbortController;
  readonly waiting: Set<OnProgress>;
  latest: StartProgress | undefined;
}

export interface SharedPullsOptions {
  readonly docker: Docker;
  readonly clock: Clock;
  readonly pullLimits: PullLimits;
}

/** Pulls that those who want the same image at the same time share; one that nobody waits for any more ends. */
export class SharedPulls {
  readonly #options: SharedPullsOptions;
  readonly #running = new Map<string, Pull>();

  constructor(options: SharedPullsOptions) {
    this.#options = options;
  }

  /** `signal` ends this caller's waiting only. */
  async pull(image: string, signal: AbortSignal, onProgress: OnProgress): Promise<void> {
    signal.throwIfAborted();
    const pull = this.#running.get(image) ?? this.#begin(image);
    // Not the caller's own function: it may come twice, and each of its waits counts.
    const tell: OnProgress = (progress) => {
      onProgress(progress);
    };
    pull.waiting.add(tell);
    if (pull.latest) tell(pull.latest);
    try {
      await untilAborted(pull.done, signal);
    } finally {
      pull.waiting.delete(tell);
      if (pull.waiting.size === 0) {
        this.#forget(image, pull);
        pull.cancelled.abort(new Error('nobody waits for it any more'));
      }
    }
  }

  #begin(image: string): Pull {
    const { docker, pullLimits } = this.#options;
    const cancelled = new AbortController();
    const waiting = new Set<OnProgress>();
    const tell: OnProgress = (progress) => {
      pull.latest = progress;
      for (const each of waiting) each(progress);
    };
    // Begins behind a turn of the loop: its first word is for those who are in `waiting` by then.
    const done = Promise.resolve()
      .then(() => pullImage(docker, image, pullLimits, cancelled.signal, this.#throttled(tell)))
      .then(tell);
    const pull: Pull = { done, cancelled, waiting, latest: undefined };
    this.#running.set(image, pull);
    const forget = (): void => {
      this.#forget(image, pull);
    };
    done.then(forget, forget);
    return pull;
  }

  #forget(image: string, pull: Pull): void {
    if (this.#running.get(image) === pull) this.#running.delete(image);
  }

  #throttled(tell: OnProgress): OnProgress {
    const { clock } = this.#options;
    let toldAt: number | undefined;
    return (progress) => {
      const now = clock.monotonic();
      if (toldAt !== undefined && now - toldAt < tellEveryMs) return;
      toldAt = now;
      tell(progress);
    };
  }
}
