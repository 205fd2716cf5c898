import { vi } from 'vitest';
import type { SandboxRef } from '../../../../../src/domain/provider.ts';
import type { GuestIdle } from '../../../../../src/providers/guest/idle.ts';
import type { FreezerLook } from '../../../../../src/providers/gvisor/idle/container-freezer.ts';
import type { Freezer, FreezerState } from '../../../../../src/providers/gvisor/idle/freezer.ts';
import { IdleSandboxes } from '../../../../../src/providers/gvisor/idle/idle-sandboxes.ts';
import { FakeClock } from '../../../../support/clock.ts';
import { recordLog } from '../../../../support/log.ts';

export const ref: SandboxRef = { workspaceId: 'w', sandboxName: 'box' };
export const never = new AbortController().signal;
export const idleMs = 5_000;
export const quiet: GuestIdle = { processes: 0, requests: 0, quietMs: 60_000 };

export class FakeFreezer implements Freezer {
  now: FreezerState = 'thawed';

  state(): FreezerState {
    return this.now;
  }

  freeze(): boolean {
    return this.#become('frozen');
  }

  thaw(): boolean {
    return this.#become('thawed');
  }

  #become(state: FreezerState): boolean {
    if (this.now === 'gone') return false;
    this.now = state;
    return true;
  }
}

export function setUp(setting: number | null = idleMs) {
  const clock = new FakeClock();
  const freezer = new FakeFreezer();
  const find = vi.fn(async (): Promise<FreezerLook | undefined> => ({ state: 'found', freezer }));
  const refusal = vi.fn(async (): Promise<string | undefined> => undefined);
  const ask = vi.fn(async (): Promise<GuestIdle> => quiet);
  const recorded = recordLog();
  const { log } = recorded;
  const freezers = { find, refusal };
  const idle = new IdleSandboxes({ freezers, ask, idleMs: setting, clock, log });
  return { idle, clock, freezer, find, refusal, ask, recorded };
}

/** A use that is over. */
export async function use(idle: IdleSandboxes): Promise<void> {
  (await idle.hold(ref))();
}
