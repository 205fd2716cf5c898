import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/deadline.ts';
import type { Log } from '../../../base/log.ts';
import { reasonOf } from '../../../base/reason.ts';
import { untilAborted } from '../../../base/until-aborted.ts';
import { EmergentError } from '../../../domain/errors.ts';
import { quotaVolume } from './disk-mode.ts';
import type { DiskChoice, DiskMode, DiskModeSetting } from './disk-mode.ts';
import type { KnownModes } from './known-modes.ts';
import type { LoopDisks } from './loop-disks.ts';
import { probeBytes, whyDiskUnlimited, whyUnlimited } from './probe-limit.ts';
import type { ProbeEngine, ProbeMark } from './probe-limit.ts';
import { thisOwner } from '../../../base/process-owner.ts';

const probeMs = 60_000;
const closeMs = 10_000;
/** What is wrong may be mended meanwhile. */
const monitorHoldsMs = 10 * 60_000;

export interface DiskModesOptions extends ProbeEngine {
  readonly setting: DiskModeSetting;
  readonly dockerHost: string | undefined;
  readonly disks: LoopDisks;
  readonly remembered: KnownModes;
  readonly clock: Clock;
  readonly log: Log;
}

interface Known {
  readonly engineId: string;
  readonly choice: Promise<DiskChoice>;
  believedUntil: number;
  made?: DiskChoice;
}

/**
 * Which disk mode works on an engine: found by filling a small volume until it refuses, once per engine and kernel,
 * and remembered beyond the life of this server. That none enforces a limit is believed for ten minutes, then tried
 * again.
 */
export class DiskModes {
  readonly #options: DiskModesOptions;
  #known: Known | undefined;

  constructor(options: DiskModesOptions) {
    this.#options = options;
  }

  /** The last choice that was made; undefined before the first workspace. */
  get known(): DiskChoice | undefined {
    return this.#known?.made;
  }

  /** A probe that is cut off leaves its disk behind, so it is given time to end. */
  async settled(): Promise<void> {
    const choice = this.#known?.choice;
    await withDeadline('the end of trying the disk limit', closeMs, async () => {
      await Promise.allSettled([choice]);
    }).catch(() => undefined);
  }

  /** `signal` ends the caller's waiting only: others may wait for the same answer. */
  choose(engineId: string, signal: AbortSignal): Promise<DiskChoice> {
    const { clock } = this.#options;
    const known = this.#known;
    const holds = known?.engineId === engineId && clock.monotonic() < known.believedUntil;
    return untilAborted((holds ? known : this.#start(engineId)).choice, signal);
  }

  /** The mode that was chosen did not work when it was needed. */
  async forget(): Promise<void> {
    const known = this.#known;
    if (!known) return;
    this.#known = undefined;
    await this.#options.remembered.forget(known.engineId);
  }

  #start(engineId: string): Known {
    const { clock } = this.#options;
    const choice = withDeadline('trying the disk limit', probeMs, (signal) =>
      this.#find(engineId, signal),
    );
    const known: Known = { engineId, choice, believedUntil: Number.POSITIVE_INFINITY };
    this.#known = known;
    choice.then(
      (made) => {
        known.made = made;
        if (made.mode === 'monitor') known.believedUntil = clock.monotonic() + monitorHoldsMs;
      },
      () => {
        known.believedUntil = Number.NEGATIVE_INFINITY;
      },
    );
    return known;
  }

  async #find(engineId: string, signal: AbortSignal): Promise<DiskChoice> {
    const { remembered } = this.#options;
    const before = await remembered.find(engineId);
    if (before) return before;
    const found = await this.#probe(signal);
    if (found.mode !== 'monitor') await remembered.keep(engineId, found);
    return found;
  }

  async #probe(signal: AbortSignal): Promise<DiskChoice> {
    const { setting, log } = this.#options;
    if (setting === 'monitor')
      return { mode: 'monitor', reason: 'WORKSPACE_DISK_MODE asks for it' };
    const reasons: string[] = [];
    const tried: readonly Exclude<DiskMode, 'monitor'>[] =
      setting === 'auto' ? ['quota', 'loop'] : [setting];
    for (const mode of tried) {
      const why = mode === 'quota' ? await this.#whyNoQuota(signal) : await this.#whyNoLoop(signal);
      if (why === undefined) return { mode, ...(reasons[0] && { reason: reasons.join('; ') }) };
      reasons.push(`${mode}: ${why}`);
    }
    const reason = reasons.join('; ');
    if (setting !== 'auto') {
      throw new EmergentError(
        'provider_unavailable',
        `the disk limit cannot be held by ${reason}`,
        {
          hint: 'Unset WORKSPACE_DISK_MODE to let the server choose what works; see `emergent doctor`.',
        },
      );
    }
    log.warn('the disk limit of workspaces is not enforced, only watched', { reason });
    return { mode: 'monitor', reason };
  }

  async #whyNoQuota(signal: AbortSignal): Promise<string | undefined> {
    return whyUnlimited(this.#options, await newMark(), quotaVolume(probeBytes), signal);
  }

  async #whyNoLoop(signal: AbortSignal): Promise<string | undefined> {
    const { disks, dockerHost, log } = this.#options;
    if (dockerHost !== undefined && !dockerHost.startsWith('unix://')) {
      return 'the engine is not on this host';
    }
    if (process.getuid?.() !== 0) return 'the server does not run as root';
    const mark = await newMark();
    const place = disks.probePlace(mark.name);
    try {
      await disks.make(place, probeBytes, signal);
    } catch (error) {
      await disks.remove(place, signal);
      signal.throwIfAborted();
      return reasonOf(error);
    }
    try {
      return await whyDiskUnlimited(this.#options, mark, place.files, signal);
    } finally {
      await disks.remove(place, signal).catch((error: unknown) => {
        log.warn('the disk of a probe could not be removed', { disk: place.image, err: error });
      });
    }
  }
}

/** The name begins with the owner, as a disk has nothing else to say whose it is. */
async function newMark(): Promise<ProbeMark> {
  const owner = await thisOwner();
  return { owner, name: `${owner}-${randomUUID().slice(0, 8)}` };
}
