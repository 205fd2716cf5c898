import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import type { Log } from '../../../base/log.ts';
import { unlessMissing } from './host-files.ts';
import { diskModes } from './disk-mode.ts';
import type { DiskChoice, DiskModeSetting } from './disk-mode.ts';

/** Engines come and go; those that were tried long ago are tried again. */
const keptEntries = 16;

interface Entry extends DiskChoice {
  readonly key: string;
}

/**
 * Which disk mode was found to work, kept beside the disks: what holds of an engine on a kernel need not be tried at
 * every start of a server. One that is no longer true shows when a disk is made, and is forgotten then.
 */
export class KnownModes {
  readonly #directory: string;
  readonly #setting: DiskModeSetting;
  readonly #log: Log;

  constructor(directory: string, setting: DiskModeSetting, log: Log) {
    this.#directory = directory;
    this.#setting = setting;
    this.#log = log;
  }

  async find(engineId: string): Promise<DiskChoice | undefined> {
    const key = this.#key(engineId);
    const found = (await this.#entries()).find((entry) => entry.key === key);
    if (!found) return undefined;
    const { mode, reason } = found;
    return { mode, ...(reason !== undefined && { reason }) };
  }

  async keep(engineId: string, choice: DiskChoice): Promise<void> {
    const key = this.#key(engineId);
    const others = (await this.#entries()).filter((entry) => entry.key !== key);
    await this.#write([{ key, ...choice }, ...others].slice(0, keptEntries));
  }

  async forget(engineId: string): Promise<void> {
    const entries = await this.#entries();
    const others = entries.filter(({ key }) => key !== this.#key(engineId));
    if (others.length < entries.length) await this.#write(others);
  }

  #key(engineId: string): string {
    const uid = String(process.getuid?.() ?? '');
    return [release(), engineId, this.#setting, uid].join(' ');
  }

  get #file(): string {
    return join(this.#directory, 'disk-modes.json');
  }

  /** What cannot be read is tried again. */
  async #entries(): Promise<readonly Entry[]> {
    try {
      const text = await unlessMissing(readFile(this.#file, 'utf8'));
      const read: unknown = JSON.parse(text ?? '[]');
      return Array.isArray(read) ? read.filter(isEntry) : [];
    } catch (error) {
      this.#log.warn('what is known of disk modes cannot be read', { err: error });
      return [];
    }
  }

  /** Servers that write at the same time spoil one another's entry at worst: then it is tried again. */
  async #write(entries: readonly Entry[]): Promise<void> {
    const draft = `${this.#file}.new`;
    try {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      await writeFile(draft, `${JSON.stringify(entries, undefined, 2)}\n`, { mode: 0o600 });
      await rename(draft, this.#file);
    } catch (error) {
      this.#log.warn('what is known of disk modes cannot be kept', { err: error });
    }
  }
}

function isEntry(value: unknown): value is Entry {
  if (typeof value !== 'object' || value === null) return false;
  const { key, mode, reason } = value as Readonly<Record<string, unknown>>;
  return (
    typeof key === 'string' &&
    diskModes.some((known) => known === mode) &&
    (reason === undefined || typeof reason === 'string')
  );
}
