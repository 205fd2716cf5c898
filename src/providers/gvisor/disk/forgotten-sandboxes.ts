import { readFile } from 'node:fs/promises';
import type Docker from 'dockerode';
import type { Clock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/deadline.ts';
import type { Log } from '../../../base/log.ts';
import { engineCall, engineStatus } from '../docker.ts';
import { HostProcess } from '../../../base/host-process.ts';
import { containerIdOf, holdsForRemoved, isShimOf } from './container-holders.ts';
import { entriesOf } from './host-files.ts';
import { loopNumbersOf } from './mounts.ts';

export interface ForgottenSandboxesOptions {
  readonly docker: Docker;
  readonly clock: Clock;
  readonly log: Log;
}

const searchMs = 20_000;
const askMs = 10_000;
/** A process that is killed is gone as soon as what it has written is. */
const endPausesMs = [5, 20, 50, 100, 200, 400, 800, 1_600, 3_200] as const;

/**
 * Sandboxes that run though their engine does not know them: one that is ended while it starts a container comes back
 * with a container that never ran, removes it when told to, and leaves its processes. No call of the engine reaches
 * them, and they hold on to the disk.
 *
 * What is ended belongs to the workspace and to nobody else, or nothing is: a process must be in the control group of
 * a container which holds this disk's files, whose own files were removed, and which the engine does not know. Where
 * the processes of the engine's host cannot be seen, none is found.
 */
export class ForgottenSandboxes {
  readonly #options: ForgottenSandboxesOptions;

  constructor(options: ForgottenSandboxesOptions) {
    this.#options = options;
  }

  /** Those that hold on to a disk, by its file, of a workspace that is being destroyed. False: there are none. */
  async end(workspaceId: string, image: string, signal: AbortSignal): Promise<boolean> {
    const found = await withDeadline(
      'looking for who uses the disk',
      searchMs,
      (inner) => this.#find(image, inner),
      signal,
    );
    for (const [container, processes] of found) {
      const shims = await shimsOf(container, processes);
      const ended = [...processes, ...shims];
      const pids = ended.map(({ pid }) => pid);
      this.#options.log.warn('a sandbox that the engine has forgotten is ended', {
        ...{ workspace: workspaceId, container, pids },
      });
      for (const one of ended) one.tell('SIGKILL');
      await this.#untilGone(ended, signal);
    }
    return found.size > 0;
  }

  async #find(image: string, signal: AbortSignal): Promise<Sandboxes> {
    const numbers = await loopNumbersOf(image);
    const found = new Map<string, readonly HostProcess[]>();
    for (const [container, processes] of await containersOfHost(signal)) {
      if (!(await anyHolds(processes, container, numbers))) continue;
      if (await this.#isKnown(container, signal)) continue;
      found.set(container, processes);
    }
    // A device that was let go of meanwhile may be another disk's by now.
    const same = (await loopNumbersOf(image)).join() === numbers.join();
    return same ? found : new Map();
  }

  async #isKnown(container: string, signal: AbortSignal): Promise<boolean> {
    try {
      await engineCall(
        'looking for the container',
        askMs,
        (abortSignal) => this.#options.docker.getContainer(container).inspect({ abortSignal }),
        signal,
      );
      return true;
    } catch (error) {
      if (engineStatus(error) === 404) return false;
      throw error;
    }
  }

  /** One that does not go keeps the disk, which says so. */
  async #untilGone(processes: readonly HostProcess[], signal: AbortSignal): Promise<void> {
    for (const pause of endPausesMs) {
      if (processes.every((one) => one.state() === 'gone')) return;
      await this.#options.clock.sleep(pause, signal);
    }
  }
}

/** By the container's id. */
type Sandboxes = ReadonlyMap<string, readonly HostProcess[]>;

async function containersOfHost(signal: AbortSignal): Promise<Sandboxes> {
  const found = new Map<string, HostProcess[]>();
  for (const name of await entriesOf('/proc')) {
    signal.throwIfAborted();
    // Known before it is looked at: what is found holds for this one, not for a later one of its number.
    const one = /^\d+$/.test(name) ? HostProcess.of(Number(name)) : undefined;
    if (!one) continue;
    const container = containerIdOf(await textOf(one.pid, 'cgroup'));
    if (container === undefined) continue;
    const processes = found.get(container) ?? [];
    found.set(container, processes);
    processes.push(one);
  }
  return found;
}

async function anyHolds(
  processes: readonly HostProcess[],
  container: string,
  numbers: readonly string[],
): Promise<boolean> {
  for (const { pid } of processes) {
    if (holdsForRemoved(await textOf(pid, 'mountinfo'), container, numbers)) return true;
  }
  return false;
}

/** It is in no control group of the container, but its processes are its children. */
async function shimsOf(
  container: string,
  processes: readonly HostProcess[],
): Promise<readonly HostProcess[]> {
  const shims: HostProcess[] = [];
  for (const pid of new Set(processes.map(({ parent }) => parent))) {
    const one = HostProcess.of(pid);
    if (one && isShimOf(await textOf(pid, 'cmdline'), container)) shims.push(one);
  }
  return shims;
}

/** Empty where it has ended meanwhile, or may not be looked at. */
function textOf(pid: number, name: 'cgroup' | 'cmdline' | 'mountinfo'): Promise<string> {
  return readFile(`/proc/${String(pid)}/${name}`, 'utf8').catch(() => '');
}
