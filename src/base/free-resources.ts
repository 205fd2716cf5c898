import { availableParallelism, freemem, loadavg } from 'node:os';

export interface FreeResources {
  readonly cpu: number;
  readonly memoryBytes: number;
}

/**
 * What this host has free now: of its CPUs, what the load of the last minute leaves; of its memory, what the kernel
 * thinks can be had without swapping.
 */
export function freeResources(cpus = availableParallelism()): FreeResources {
  const [load = 0] = loadavg();
  const cpu = Math.max(0, cpus - load);
  return { cpu: Math.round(cpu * 10) / 10, memoryBytes: freemem() };
}
