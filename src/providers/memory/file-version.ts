import type { BigIntStats } from 'node:fs';

/** Every way of changing a file changes one of these, but for two writes of as many bytes in one clock tick. */
export function versionOf(stat: BigIntStats): string {
  return [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs]
    .map((part) => part.toString(36))
    .join('-');
}
