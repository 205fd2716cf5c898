import type { ResourceLimits } from '../../domain/limits.ts';
import type { ContainerProfile } from './container-profile.ts';

const MiB = 2 ** 20;

/** What the engine is told so that the limits of a workspace hold. */
export interface ContainerBounds {
  /** Above the workspace's own limit: under gVisor, what reaches this one takes the whole sandbox with it. */
  readonly engineMemoryBytes: number;
  /** /tmp is memory under gVisor, whatever the image has there: unbounded, it could fill all of it. */
  readonly tmpBytes: number;
  readonly shmBytes: number;
  /** Processes and threads in the guest. */
  readonly maxProcesses: number;
}

/** The part of gVisor itself, and what all processes can take, per core, before the watchdog is awake. */
const sandboxBytes = 128 * MiB;
const growthBytesPerCore = 128 * MiB;
/** What an engine gives a container unless told. */
const usualShmBytes = 64 * MiB;
/** A process that does nothing costs about one. */
const bytesPerProcess = 2 * MiB;
const processes = { min: 256, max: 4_096 } as const;

/** The reasons and the measurements: docs/decisions/0010-memory-under-gvisor.md. */
export function containerBounds(
  { cpu, memoryBytes }: ResourceLimits,
  { kernel }: ContainerProfile,
): ContainerBounds {
  const ownBytes = kernel === 'guest' ? sandboxBytes : 0;
  const fitting = Math.floor(memoryBytes / bytesPerProcess);
  return {
    engineMemoryBytes: memoryBytes + ownBytes + growthBytesPerCore * Math.max(1, Math.ceil(cpu)),
    tmpBytes: Math.floor(memoryBytes / 2),
    shmBytes: Math.min(usualShmBytes, Math.floor(memoryBytes / 4)),
    maxProcesses: Math.min(Math.max(fitting, processes.min), processes.max),
  };
}
