import { vi } from 'vitest';
import type { Upkeep } from '../../../../src/engine/upkeep.ts';

/** Notes what it is asked to do, and does nothing. Tests replace what should go wrong or take its time. */
export class FakeUpkeep implements Upkeep {
  /** Each call as "what id", in order. */
  readonly calls: string[] = [];
  readonly busy = new Set<string>();

  readonly finishCreate = vi.fn<Upkeep['finishCreate']>(async ({ id }) => {
    this.calls.push(`finishCreate ${id}`);
  });
  readonly finishStop = vi.fn<Upkeep['finishStop']>(async ({ id }) => {
    this.calls.push(`finishStop ${id}`);
  });
  readonly finishResume = vi.fn<Upkeep['finishResume']>(async ({ id }) => {
    this.calls.push(`finishResume ${id}`);
  });
  readonly finishDestroy = vi.fn<Upkeep['finishDestroy']>(async ({ id }) => {
    this.calls.push(`finishDestroy ${id}`);
  });
  readonly restart = vi.fn<Upkeep['restart']>(async ({ id }) => {
    this.calls.push(`restart ${id}`);
  });
  readonly stopAgain = vi.fn<Upkeep['stopAgain']>(async ({ id }) => {
    this.calls.push(`stopAgain ${id}`);
  });
  readonly markLost = vi.fn<Upkeep['markLost']>(async ({ id }) => {
    this.calls.push(`markLost ${id}`);
  });
  readonly removeUnowned = vi.fn<Upkeep['removeUnowned']>(async (_, { workspaceId }) => {
    this.calls.push(`removeUnowned ${workspaceId}`);
  });

  changing(): ReadonlySet<string> {
    return this.busy;
  }
}
