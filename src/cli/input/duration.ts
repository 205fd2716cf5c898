import { InvalidArgumentError } from 'commander';

const unitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** "500ms", "90s", "1.5h", "30d", or plain seconds, in milliseconds. */
export function parseDurationMs(text: string): number {
  const ms = parseAgeMs(text);
  if (ms === 0) throw notADuration();
  return ms;
}

/** The same, and zero. */
export function parseAgeMs(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text);
  const ms = Math.round(Number(match?.[1]) * (unitsMs[match?.[2] ?? 's'] ?? Number.NaN));
  if (!Number.isSafeInteger(ms)) throw notADuration();
  return ms;
}

function notADuration(): InvalidArgumentError {
  return new InvalidArgumentError('Write a duration such as 90s, 15m, 12h or 30d.');
}
