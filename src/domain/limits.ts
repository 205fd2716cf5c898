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

/** Parses "2", "0.5", "1.5" as a number of cores. */
export function parseCpu(text: string, field: string): number {
  const cores = /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (!Number.isFinite(cores) || cores <= 0) {
    throw new EmergentError('invalid_value', `${field}: "${text}" is not a number of CPUs`, {
      hint: 'Write a positive number of cores, such as 2 or 0.5.',
    });
  }
  return cores;
}

/** "4G", "512M", "1536M": the largest unit that divides the value; bytes otherwise. */
export function formatSize(bytes: number): string {
  for (const unit of ['T', 'G', 'M', 'K']) {
    const factor = units[unit] ?? 1;
    if (bytes >= factor && bytes % factor === 0) return `${String(bytes / factor)}${unit}`;
  }
  return String(bytes);
}
