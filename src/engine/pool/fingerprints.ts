import type { Clock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import type { WorkspaceProvider } from '../../domain/provider.ts';

/** A first pull of the image may be part of it. */
const deadlineMs = 600_000;
/** What takes longer is waited for in the background. */
const patienceMs = 3_000;
/** A registry that refuses an image is not asked at every turn. */
const failureHoldsMs = 60_000;

interface Answer {
  readonly fingerprint: Promise<string>;
  /** Nobody waits for it any longer. */
  late: boolean;
}

/**
 * Asks what sandboxes are made of, never twice at once. What takes long goes on while the pools are looked after;
 * what failed is tried again after a minute.
 */
export class Fingerprints {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #onLate: () => void;
  readonly #signal: AbortSignal;
  readonly #running = new Map<string, Answer>();
  readonly #failed = new Map<string, { readonly error: unknown; readonly at: number }>();

  /** `onLate`: an answer has come that nobody waited for any longer, so that it is worth asking again. */
  constructor(clock: Pick<Clock, 'monotonic'>, onLate: () => void, signal: AbortSignal) {
    this.#clock = clock;
    this.#onLate = onLate;
    this.#signal = signal;
  }

  /** Fails after a few seconds, also if the answer is still to come. */
  async of(provider: WorkspaceProvider, image: string): Promise<string> {
    const about = JSON.stringify([provider.name, image]);
    const failed = this.#failed.get(about);
    if (failed && this.#clock.monotonic() - failed.at < failureHoldsMs) throw failed.error;
    const answer = this.#running.get(about) ?? this.#ask(provider, image, about);
    try {
      const what = `getting the image ${image}`;
      return await withDeadline(what, patienceMs, () => answer.fingerprint);
    } finally {
      answer.late = true;
    }
  }

  #ask({ name, warm }: WorkspaceProvider, image: string, about: string): Answer {
    if (!warm) throw new Error(`${name} cannot have sandboxes wait`);
    const ask = async (): Promise<string> => {
      try {
        const fingerprint = await withDeadline(
          `looking at the image ${image}`,
          deadlineMs,
          (signal) => warm.fingerprint({ image }, signal),
          this.#signal,
        );
        this.#failed.delete(about);
        return fingerprint;
      } catch (error) {
        this.#failed.set(about, { error, at: this.#clock.monotonic() });
        throw error;
      } finally {
        this.#running.delete(about);
        if (answer.late) this.#onLate();
      }
    };
    const fingerprint = ask();
    fingerprint.catch(() => undefined);
    const answer: Answer = { fingerprint, late: false };
    this.#running.set(about, answer);
    return answer;
  }
}
