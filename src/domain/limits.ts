import { EmergentError } from './errors.ts';

/** What a sandbox may use. CPU in cores, the rest in bytes. */
export interface ResourceLimits {
  readonly cpu: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

const units: Readonly<Record<string, number>> = {
  '': 1,
  K: 2 ** 10,
  M: 2 ** 20,
  G: 2 ** 30,
  T: 2 ** 40,
};

/** Parses "512M", "0.5G", "10GB", "1073741824"; anything else is refused with the field's name. */
export function parseSize(text: string, field: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?$/i.exec(text.trim());
  const factor = match ? units[(match[2] ?? '').toUpperCase()] : undefined;
  const bytes = match && factor !== undefined ? Math.floor(Number(match[1]) * factor) : Number.NaN;
  if (!Number.isSafeInteger(bytes) || bytes <= 0) {
    throw new EmergentError('invalid_value', `${field}: "${text}" is not a size`, {
      hint: 'Write a positive number with a unit, such as 512M, 0.5G or 10G.',
    });
  }
  return bytes;
}

/**
 * What may be asked for: below, no sandbox starts; above, it is a slip of the pen. What the host has not got is
 * not refused here but granted as far as it goes.
 */
export const limitBounds = {
  cpu: { min: 0.05, max: 1_024 },
  memoryBytes: { min: 64 * 2 ** 20, max: 64 * 2 ** 40 },
  diskBytes: { min: 64 * 2 ** 20, max: 1_024 * 2 ** 40 },
} as const satisfies Record<keyof ResourceLimits, { min: number; max: number }>;

/** Parses "2", "0.5", "1.5" as a number of cores. */
export function parseCpu(text: string, field: string): number {
  const cores = /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (!Number.isFinite(cores) || cores <= 0) {
    throw new EmergentError('invalid_value', `${field}: "${text}" is not a number of CPUs`, {
      hint: 'Write a positive number of cores, such as 2 or 0.5.',
    });
  }
  return within(cores, limitBounds.cpu, field, String);
}

export function parseMemory(text: string, field: string): number {
  return within(parseSize(text, field), limitBounds.memoryBytes, field, formatSize);
}

export function parseDisk(text: string, field: string): number {
  return within(parseSize(text, field), limitBounds.diskBytes, field, formatSize);
}

function within(
  value: number,
  { min, max }: { readonly min: number; readonly max: number },
  field: string,
  format: (value: number) => string,
): number {
  if (value >= min && value <= max) return value;
  throw new EmergentError(
    'invalid_value',
    `${field}: ${format(value)} is not between ${format(min)} and ${format(max)}`,
  );
}

/** "4G", "512M", "1536M": the largest unit that divides the value; bytes otherwise. */
export function formatSize(bytes: number): string {
  for (const unit of ['T', 'G', 'M', 'K']) {
    const factor = units[unit] ?? 1;
    if (bytes >= factor && bytes % factor === 0) return `${String(bytes / factor)}${unit}`;
  }
  return String(bytes);
}
