import { createHmac } from 'node:crypto';
import type Docker from 'dockerode';
import type { Clock } from '../../base/clock.ts';
import type { SandboxRef } from '../../domain/provider.ts';
import { hashSecret } from '../../domain/token.ts';
import { GuestSandbox } from '../guest/sandbox.ts';
import { execDial } from './dial.ts';

export interface GuestSandboxesOptions {
  readonly docker: Docker;
  /** Secret of this installation; each sandbox's access token is derived from it. */
  readonly key: Uint8Array;
  readonly clock: Clock;
}

/** The links to the agents of this provider's sandboxes: made when first asked for, kept until closed. */
export class GuestSandboxes {
  readonly #options: GuestSandboxesOptions;
  readonly #known = new Map<string, GuestSandbox>();

  constructor(options: GuestSandboxesOptions) {
    this.#options = options;
  }

  of(ref: SandboxRef): GuestSandbox {
    const known = this.#known.get(ref.sandboxName);
    if (known) return known;
    const { docker, clock } = this.#options;
    const sandbox = new GuestSandbox({
      dial: execDial(docker, ref.sandboxName, clock),
      token: this.#accessToken(ref.workspaceId),
      clock,
    });
    this.#known.set(ref.sandboxName, sandbox);
    return sandbox;
  }

  /** What the agent of a new container is told, to know who may talk to it. */
  tokenHash(workspaceId: string): string {
    return hashSecret(this.#accessToken(workspaceId));
  }

  close(ref: SandboxRef): void {
    this.#known.get(ref.sandboxName)?.close();
    this.#known.delete(ref.sandboxName);
  }

  closeAll(): void {
    for (const sandbox of this.#known.values()) sandbox.close();
    this.#known.clear();
  }

  /** Derived, so a restarted server reaches every sandbox without having stored a secret. */
  #accessToken(workspaceId: string): string {
    return createHmac('sha256', this.#options.key).update(workspaceId).digest('hex');
  }
}
