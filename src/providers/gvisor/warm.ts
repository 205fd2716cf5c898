import { DeadlineError, withDeadline } from '../../base/deadline.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { SandboxRef, SandboxSpec, WarmSandboxes } from '../../domain/provider.ts';
import { notRunning } from '../guest/not-running.ts';
import type { GuestSandboxes } from './guest-sandboxes.ts';
import type { Images } from './images/images.ts';
import type { Prepared } from './prepared.ts';

export interface WarmContainersOptions {
  readonly guests: GuestSandboxes;
  readonly prepared: Prepared;
  readonly images: Images;
  /** How long one that is adopted may take to answer: whoever waits for it has a container made instead. */
  readonly adoptMs?: number | undefined;
}

/** For the way to the agent, which may have to be opened, and back. */
const restMs = 15_000;
/** Each is a round trip to the agent: after a few of them it has forgotten the request that saw it start. */
const freezeAttempts = 20;
const defaultAdoptMs = 1_500;

/**
 * Containers that wait: with an open link to their agent, and frozen where that is possible. So adopting one is a
 * signal to its kernel and one request; the engine has no part in it.
 */
export class WarmContainers implements WarmSandboxes {
  readonly #guests: GuestSandboxes;
  readonly #prepared: Prepared;
  readonly #images: Images;
  readonly #adoptMs: number;

  constructor({ guests, prepared, images, adoptMs = defaultAdoptMs }: WarmContainersOptions) {
    this.#guests = guests;
    this.#prepared = prepared;
    this.#images = images;
    this.#adoptMs = adoptMs;
  }

  /** An image that is not there is pulled first: the first sandbox made of it would have another fingerprint. */
  async fingerprint({ image }: Pick<SandboxSpec, 'image'>, signal: AbortSignal): Promise<string> {
    const { engine } = await this.#prepared.get(signal);
    const { id } = await this.#images.ensure(image, engine.architecture, signal, () => undefined);
    return id;
  }

  /** One that is busy beyond reason is frozen later, by the rule for every sandbox. */
  async rest(ref: SandboxRef, signal: AbortSignal): Promise<void> {
    const guests = this.#guests;
    if (guests.idle.sleeps(ref)) return;
    await answering(ref, restMs, signal, async (inner) => {
      for (let attempt = 0; attempt < freezeAttempts; attempt += 1) {
        await guests.whileAwake(ref, () => guests.of(ref).idle(inner));
        if ((await guests.idle.freezeNow(ref, inner)) !== 'busy') return;
      }
    });
  }

  rouse(ref: SandboxRef): void {
    const { idle } = this.#guests;
    if (!idle.sleeps(ref)) return;
    const thaw = async (): Promise<void> => {
      (await idle.hold(ref))();
    };
    void thaw();
  }

  async adopt(ref: SandboxRef, { env }: SandboxSpec, signal: AbortSignal): Promise<void> {
    if (this.#guests.idle.hasEnded(ref)) {
      throw notRunning(`the sandbox ${ref.sandboxName}`, 'has ended while it waited');
    }
    await answering(ref, this.#adoptMs, signal, (inner) => this.#guests.of(ref).adopt(env, inner));
  }
}

async function answering(
  { sandboxName }: SandboxRef,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  try {
    await withDeadline(`waiting for the sandbox ${sandboxName}`, ms, work, signal);
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    throw new EmergentError('sandbox_unreachable', error.message, { cause: error });
  }
}
