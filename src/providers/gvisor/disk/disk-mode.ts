/**
 * How the disk limit of a workspace is held. `quota`: by the engine's own file system. `loop`: /workspace is a file
 * system of its own in a file of that size. `monitor`: not at all; use is measured, and too much of it reported.
 */
export const diskModes = ['quota', 'loop', 'monitor'] as const;
export type DiskMode = (typeof diskModes)[number];

/** `auto`: the first of them that works. Any other is that one or nothing. */
export type DiskModeSetting = 'auto' | DiskMode;

export interface DiskChoice {
  readonly mode: DiskMode;
  /** Why it is none of those before it. */
  readonly reason?: string;
}

/** What the engine is asked for when it makes the volume of a workspace. */
export type VolumeOptions = Readonly<Record<string, string>>;

export function quotaVolume(bytes: number): VolumeOptions {
  return { size: String(bytes) };
}
