const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** "12s", "5m", "3h", "2d": one unit, rounded down. */
export function shortDuration(ms: number): string {
  if (ms < minute) return `${String(Math.max(0, Math.floor(ms / second)))}s`;
  if (ms < hour) return `${String(Math.floor(ms / minute))}m`;
  if (ms < day) return `${String(Math.floor(ms / hour))}h`;
  return `${String(Math.floor(ms / day))}d`;
}

/** "in 30d", "now" or "never". */
export function untilExpiry(expiresAt: string | null, now: number): string {
  if (expiresAt === null) return 'never';
  const left = Date.parse(expiresAt) - now;
  return left <= 0 ? 'now' : `in ${shortDuration(left)}`;
}

/** "512 B", "1.4 KB", "20.0 MB": for people, in powers of 1024 as the limits are. */
export function readableSize(bytes: number): string {
  const units = ['KB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 'B';
  for (const next of units) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return unit === 'B' ? `${String(value)} B` : `${value.toFixed(1)} ${unit}`;
}
