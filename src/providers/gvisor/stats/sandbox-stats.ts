import type Docker from 'dockerode';
import type { Clock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/deadline.ts';
import { reasonOf } from '../../../base/reason.ts';
import { EmergentError } from '../../../domain/errors.ts';
import type { SandboxRef, SandboxStats } from '../../../domain/provider.ts';
import type { GuestSandbox } from '../../guest/sandbox.ts';
import type { GuestStats } from '../../guest/stats.ts';
import type { Containers, FoundContainer } from '../containers.ts';
import type { WorkspaceDisks } from '../disk/workspace-disks.ts';
import type { GuestSandboxes } from '../guest-sandboxes.ts';
import { Volumes } from '../volumes.ts';
import { engineCpuSeconds } from './engine-use.ts';
import { MeasuredVolumes } from './measured-volumes.ts';
import { cgroupUse } from './sandbox-cgroup.ts';
import type { CgroupUse } from './sandbox-cgroup.ts';

export interface SandboxUsesOptions {
  readonly docker: Docker;
  readonly installationId: string;
  readonly containers: Containers;
  readonly disks: WorkspaceDisks;
  readonly guests: GuestSandboxes;
  readonly clock: Clock;
}

/** Each part for itself: one that hangs costs no more than its own figure. */
const partMs = 2_000;
const unknown = { frozen: false, cpuSeconds: null, memoryBytes: null, processes: null } as const;

/**
 * What sandboxes use: CPU as the host's kernel counts it, memory and processes as the sandbox itself sees them, disk
 * from its file system. A frozen sandbox is not asked: it was frozen because nothing runs in it, and what it held
 * then it holds still.
 */
export class SandboxUses implements Disposable {
  readonly #options: SandboxUsesOptions;
  readonly #volumes: Volumes;
  readonly #measured: MeasuredVolumes;
  /** What each last said of itself; forgotten with the link to it. */
  readonly #said = new WeakMap<GuestSandbox, GuestStats>();

  constructor(options: SandboxUsesOptions) {
    this.#options = options;
    this.#volumes = new Volumes(options.docker, options.installationId);
    this.#measured = new MeasuredVolumes(options.docker, options.clock);
  }

  async of(ref: SandboxRef, signal: AbortSignal): Promise<SandboxStats> {
    const attempts = new Attempts(signal);
    const [use, disk] = await Promise.all([
      this.#running(ref, attempts),
      attempts.one('measuring the disk', (inner) => this.#disk(ref, inner)),
    ]);
    if (use ?? disk) {
      const at = this.#options.clock.now();
      return { at, ...(use ?? unknown), diskBytes: disk?.usedBytes ?? null };
    }
    throw (
      attempts.failure ??
      new EmergentError('sandbox_unreachable', `there is nothing of ${ref.sandboxName}`)
    );
  }

  [Symbol.dispose](): void {
    this.#measured[Symbol.dispose]();
  }

  /** Undefined where there is none, or that cannot be told. */
  async #running(
    ref: SandboxRef,
    attempts: Attempts,
  ): Promise<Omit<SandboxStats, 'diskBytes'> | undefined> {
    const { clock, containers, docker, guests } = this.#options;
    const found = await attempts.one('looking for the container', (signal) =>
      containers.find(ref, signal),
    );
    if (found?.ours !== true) return undefined;
    if (!found.running) return { at: clock.now(), ...unknown };
    const kernel = await attempts.one('reading the control group', () =>
      cgroupUse(found.pid, found.id, clock),
    );
    const at = kernel?.at ?? clock.now();
    const frozen = kernel?.frozen ?? found.paused;
    const [cpuSeconds, guest] = await Promise.all([
      kernel?.cpuSeconds ??
        attempts.one('asking for CPU time', (inner) => engineCpuSeconds(docker, found.id, inner)),
      frozen ? undefined : attempts.one('asking the sandbox', (inner) => this.#ask(ref, inner)),
    ]);
    const use = frozen
      ? whileFrozen(this.#said.get(guests.of(ref)), kernel, found)
      : { memoryBytes: kernel?.memoryBytes ?? null, processes: null, ...guest };
    return { at, frozen, cpuSeconds: cpuSeconds ?? null, ...use };
  }

  async #ask(ref: SandboxRef, signal: AbortSignal): Promise<GuestStats> {
    const guest = this.#options.guests.of(ref);
    const said = await guest.stats(signal);
    this.#said.set(guest, said);
    return said;
  }

  /** Undefined where there is none. */
  async #disk(
    ref: SandboxRef,
    signal: AbortSignal,
  ): Promise<{ readonly usedBytes: number | null } | undefined> {
    const volume = await this.#volumes.find(ref, signal);
    if (!volume) return undefined;
    if (volume.diskMode === 'loop') {
      return (await this.#options.disks.use(volume)) ?? { usedBytes: null };
    }
    const { names } = await this.#volumes.of(ref, signal);
    const sizes = await Promise.all(names.map((name) => this.#measured.sizeOf(name, signal)));
    return { usedBytes: sizes.reduce(sum, 0) };
  }
}

/** Unknown as soon as one of them is. */
function sum(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : one + other;
}

/**
 * It said what it held while something ran in it; since then it may have given back some, and the host knows of no
 * more than it has. Whoever pauses a container by hand pauses what runs in it.
 */
function whileFrozen(
  said: GuestStats | undefined,
  kernel: CgroupUse | undefined,
  { paused }: FoundContainer,
): GuestStats {
  const held = [said?.memoryBytes, kernel?.memoryBytes].filter(
    (bytes) => typeof bytes === 'number',
  );
  return {
    memoryBytes: held.length === 0 ? null : Math.min(...held),
    processes: paused ? (said?.processes ?? null) : 0,
  };
}

/** Parts that may each fail, in time; why the first one did is kept. */
class Attempts {
  failure: Error | undefined;
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  async one<T>(what: string, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    try {
      return await withDeadline(what, partMs, work, this.#signal);
    } catch (error) {
      this.#signal.throwIfAborted();
      this.failure ??= error instanceof Error ? error : new Error(reasonOf(error));
      return undefined;
    }
  }
}
