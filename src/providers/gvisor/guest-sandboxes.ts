import { createHmac } from 'node:crypto';
import type Docker from 'dockerode';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { SandboxIncident, SandboxRef } from '../../domain/provider.ts';
import { hashSecret } from '../../domain/token.ts';
import { GuestSandbox } from '../guest/sandbox.ts';
import { execDial } from './dial.ts';
import { IdleSandboxes } from './idle/idle-sandboxes.ts';
import { SandboxFreezers } from './idle/sandbox-freezers.ts';

export interface GuestSandboxesOptions {
  readonly docker: Docker;
  /** Secret of this installation; each sandbox's access token is derived from it. */
  readonly key: Uint8Array;
  readonly clock: Clock;
  readonly log: Log;
  /** How long nobody must have used a sandbox before it is frozen; null: none is ever frozen. */
  readonly idleFreezeMs: number | null;
  /** Hears of what happens in sandboxes by itself. */
  readonly onIncident: (incident: SandboxIncident) => void;
}

/**
 * The links to the agents of this provider's sandboxes: made when first asked for, kept until closed. A sandbox is
 * awake while a request to its agent is open, and put to sleep when nobody needs it.
 */
export class GuestSandboxes {
  readonly idle: IdleSandboxes;
  readonly #options: GuestSandboxesOptions;
  readonly #known = new Map<string, GuestSandbox>();

  constructor(options: GuestSandboxesOptions) {
    this.#options = options;
    const { docker, clock, log, idleFreezeMs: idleMs } = options;
    this.idle = new IdleSandboxes({
      freezers: new SandboxFreezers(docker, clock),
      ask: (ref, signal) => this.of(ref).idle(signal),
      ...{ idleMs, clock, log },
    });
  }

  of(ref: SandboxRef): GuestSandbox {
    const known = this.#known.get(ref.sandboxName);
    if (known) return known;
    const { docker, clock, onIncident } = this.#options;
    const { workspaceId, sandboxName } = ref;
    const sandbox = new GuestSandbox(
      {
        dial: execDial(docker, sandboxName, clock),
        token: this.#accessToken(workspaceId),
        clock,
        wake: () => this.idle.hold(ref),
        onLost: () => {
          this.idle.lost(ref);
        },
      },
      (incident) => {
        onIncident({ ...incident, workspaceId });
      },
    );
    this.#known.set(ref.sandboxName, sandbox);
    return sandbox;
  }

  /** What the agent of a new container is told, to know who may talk to it. */
  tokenHash(workspaceId: string): string {
    return hashSecret(this.#accessToken(workspaceId));
  }

  /** For what is done to a container from outside: the engine waits for a frozen one. */
  async whileAwake<T>(ref: SandboxRef, work: () => Promise<T>): Promise<T> {
    const letGo = await this.idle.hold(ref);
    try {
      return await work();
    } finally {
      letGo();
    }
  }

  close(ref: SandboxRef): void {
    this.#known.get(ref.sandboxName)?.close();
    this.#known.delete(ref.sandboxName);
    this.idle.close(ref);
  }

  closeAll(): void {
    this.idle[Symbol.dispose]();
    for (const sandbox of this.#known.values()) sandbox.close();
    this.#known.clear();
  }

  /** Derived, so a restarted server reaches every sandbox without having stored a secret. */
  #accessToken(workspaceId: string): string {
    return createHmac('sha256', this.#options.key).update(workspaceId).digest('hex');
  }
}
