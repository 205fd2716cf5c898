import type Docker from 'dockerode';
import type { Clock } from '../../../base/clock.ts';
import type { SandboxRef } from '../../../domain/provider.ts';
import { engineCall } from '../docker.ts';
import { containerFreezer } from './container-freezer.ts';
import type { FreezerLook } from './container-freezer.ts';

const callMs = 5_000;
/** An engine's settings can be changed while it runs. */
const settingHoldsMs = 60_000;

/** Which sandboxes can be frozen, and by what. */
export interface Freezers {
  /** Undefined where no container of this name runs. */
  find(ref: SandboxRef, signal?: AbortSignal): Promise<FreezerLook | undefined>;
  /** Why the engine's containers must not be frozen, if there is a reason. */
  refusal(signal: AbortSignal): Promise<string | undefined>;
}

export class SandboxFreezers implements Freezers {
  readonly #docker: Docker;
  readonly #clock: Clock;
  #setting: { readonly refusal: string | undefined; readonly at: number } | undefined;

  constructor(docker: Docker, clock: Clock) {
    this.#docker = docker;
    this.#clock = clock;
  }

  /** The list is the one question about a container that the engine always answers. */
  async find({ sandboxName }: SandboxRef, signal?: AbortSignal): Promise<FreezerLook | undefined> {
    const listed = await engineCall(
      'looking for a running container',
      callMs,
      (abortSignal) =>
        this.#docker.listContainers({ filters: { name: [sandboxName] }, abortSignal }),
      signal,
    );
    // The engine takes the name for a part of one.
    const container = listed.find(({ Names }) => Names.includes(`/${sandboxName}`));
    if (!container || !/^[0-9a-f]{64}$/.test(container.Id)) return undefined;
    return containerFreezer(container.Id);
  }

  /** An engine that stops its containers when it stops itself waits for frozen ones, and so does its next start. */
  async refusal(signal: AbortSignal): Promise<string | undefined> {
    const now = this.#clock.monotonic();
    if (this.#setting && now - this.#setting.at < settingHoldsMs) return this.#setting.refusal;
    const info: unknown = await engineCall(
      'asking for its settings',
      callMs,
      () => this.#docker.info(),
      signal,
    );
    const { LiveRestoreEnabled: live } = info as { readonly LiveRestoreEnabled?: boolean };
    const refusal =
      live === true
        ? undefined
        : 'the engine stops its containers with itself: live-restore is off';
    this.#setting = { refusal, at: now };
    return refusal;
  }
}
