import { reasonOf } from '../base/reason.ts';
import { parseImageReference } from '../domain/image.ts';
import { parseCpu, parseDisk, parseMemory } from '../domain/limits.ts';
import type { ResourceLimits } from '../domain/limits.ts';
import { defaultPoolName, largestPool, poolNamePattern } from '../domain/warm-pool.ts';
import type { PoolDefinition } from '../domain/warm-pool.ts';
import { networkModes } from '../domain/workspace.ts';
import type { NetworkMode } from '../domain/workspace.ts';
import { ConfigError } from './config-error.ts';
import { oneOf } from './parse.ts';

/** A pool as it was asked for; what it leaves out is as for a request that leaves it out. */
export interface WarmPoolSetting {
  readonly name: string;
  readonly size: number;
  readonly image?: string;
  readonly cpu?: number;
  readonly memoryBytes?: number;
  readonly diskBytes?: number;
  readonly network?: NetworkMode;
  readonly provider?: string;
}

export const warmPoolFields = [
  'name',
  'size',
  'image',
  'cpu',
  'memory',
  'disk',
  'network',
  'provider',
] as const;
type Field = (typeof warmPoolFields)[number];

/** Of the settings, what pools are made from. */
export interface PoolSettings {
  readonly warmPoolSize: number;
  readonly warmPools: readonly WarmPoolSetting[];
  readonly defaultLimits: ResourceLimits;
}

/** Every pool of the server, the one for plain requests first. `defaultImage`: that of a request which names none. */
export function poolDefinitions(
  { warmPoolSize, warmPools, defaultLimits }: PoolSettings,
  defaultImage: string,
): readonly PoolDefinition[] {
  const plain: WarmPoolSetting = { name: defaultPoolName, size: warmPoolSize };
  return [plain, ...warmPools].map((pool) => ({
    name: pool.name,
    size: pool.size,
    provider: pool.provider ?? 'auto',
    image: pool.image ?? defaultImage,
    limits: {
      cpu: pool.cpu ?? defaultLimits.cpu,
      memoryBytes: pool.memoryBytes ?? defaultLimits.memoryBytes,
      diskBytes: pool.diskBytes ?? defaultLimits.diskBytes,
    },
    network: pool.network ?? 'nat',
  }));
}

/** Throws a ConfigError with everything that is wrong. */
export function parseWarmPools(text: string): readonly WarmPoolSetting[] {
  if (text === '') return Object.freeze([]);
  const problems: string[] = [];
  const pools = entriesOf(text).map((entry, index) => {
    const pool = readPool(entry, (problem) => {
      problems.push(`pool ${labelOf(entry, index)}: ${problem}`);
    });
    return Object.freeze(pool);
  });
  const names = pools.flatMap(({ name }) => name ?? []);
  const twice = new Set(names.filter((name, index) => names.indexOf(name) !== index));
  for (const name of twice) problems.push(`pool "${name}": there are several of this name`);
  if (problems.length > 0) throw new ConfigError(problems);
  // Every field that could not be read has left a problem, so what remains is complete.
  return Object.freeze(pools as WarmPoolSetting[]);
}

type Entry = Readonly<Record<string, unknown>>;

function entriesOf(text: string): readonly Entry[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`is not JSON: ${reasonOf(error)}`, { cause: error });
  }
  if (!Array.isArray(value) || !value.every(isObject)) {
    throw new Error('is not a JSON array of objects such as [{"name": "python", "size": 2}]');
  }
  return value;
}

function isObject(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** By its name, or where it has none, by its place. */
function labelOf(entry: Entry, index: number): string {
  const { name } = entry;
  return typeof name === 'string' && name !== '' ? `"${name}"` : String(index + 1);
}

function readPool(entry: Entry, onProblem: (problem: string) => void): Partial<WarmPoolSetting> {
  for (const field of Object.keys(entry)) {
    if (warmPoolFields.some((known) => known === field)) continue;
    onProblem(`there is no field "${field}", only ${warmPoolFields.join(', ')}`);
  }
  const read = <T>(field: Field, parse: (value: unknown) => T, required = false): T | undefined => {
    if (entry[field] === undefined && !required) return undefined;
    try {
      return parse(entry[field]);
    } catch (error) {
      onProblem(reasonOf(error));
      return undefined;
    }
  };
  return defined({
    name: read('name', parseName, true),
    size: read('size', parseSize, true),
    image: read('image', parseImage),
    cpu: read('cpu', (value) => parseCpu(textOf('cpu', value), 'cpu')),
    memoryBytes: read('memory', (value) => parseMemory(textOf('memory', value), 'memory')),
    diskBytes: read('disk', (value) => parseDisk(textOf('disk', value), 'disk')),
    network: read('network', parseNetwork),
    provider: read('provider', parseProvider),
  });
}

type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

function defined<T extends object>(from: T): Defined<T> {
  return Object.fromEntries(
    Object.entries(from).filter(([, value]) => value !== undefined),
  ) as Defined<T>;
}

function parseName(value: unknown): string {
  if (value === undefined) throw new Error('name: is missing');
  if (typeof value !== 'string' || !poolNamePattern.test(value)) {
    throw new Error(
      `name: ${shown(value)} is not a name of up to 32 small letters, digits and -, a letter first`,
    );
  }
  if (value === defaultPoolName) {
    throw new Error(`name: "${value}" is the pool that WORKSPACE_WARM_POOL_SIZE sizes`);
  }
  return value;
}

function parseSize(value: unknown): number {
  if (value === undefined) throw new Error('size: is missing');
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= largestPool) {
    return value;
  }
  throw new Error(`size: ${shown(value)} is not a whole number from 0 to ${String(largestPool)}`);
}

function parseImage(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`image: ${shown(value)} is not text`);
  parseImageReference(value);
  return value;
}

function parseNetwork(value: unknown): NetworkMode {
  if (typeof value !== 'string') throw new Error(`network: ${shown(value)} is not text`);
  try {
    return oneOf(networkModes)(value);
  } catch (error) {
    throw new Error(`network: ${reasonOf(error)}`, { cause: error });
  }
}

/** Which ones there are is for the server to know; what looks like none is refused here. */
function parseProvider(value: unknown): string {
  if (typeof value === 'string' && /^[a-z][a-z0-9_-]{0,63}$/.test(value)) return value;
  throw new Error(`provider: ${shown(value)} is not the name of a provider, or "auto"`);
}

/** Limits are text with a unit, and plain numbers as JSON has them. */
function textOf(field: Field, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  throw new Error(`${field}: ${shown(value)} is neither text nor a number`);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
