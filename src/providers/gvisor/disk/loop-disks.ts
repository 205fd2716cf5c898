import { chmod, mkdir, open, rmdir, statfs, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../../base/clock.ts';
import { EmergentError } from '../../../domain/errors.ts';
import { entriesOf, madeAt, removeEmpty, resolvedPath, unlessMissing } from './host-files.ts';
import type { HostRun } from '../host-run.ts';
import { HostToolError, hostToolBy } from './host-tool.ts';
import type { HostTool } from './host-tool.ts';
import { loopDevicesOf, mountsUnder } from './mounts.ts';

/** Where the disk of one workspace lies on the host. */
export interface DiskPlace {
  readonly image: string;
  readonly mount: string;
  /** The directory in the mounted disk that is /workspace. Not its root: see LoopDisks. */
  readonly files: string;
}

export interface DiskUse {
  readonly usedBytes: number;
  readonly limitBytes: number;
}

/** What there is of one disk. */
export interface FoundDisk {
  readonly workspaceId: string;
  readonly createdAt: Date;
  /** False: only its mount point is there. */
  readonly whole: boolean;
  readonly parts: readonly string[];
}

const formatMs = 60_000;
const mountMs = 20_000;
/** All that was written and is not on the disk yet is written before. */
const unmountMs = 120_000;
const detachMs = 10_000;
/** A device is let go of a moment after its last user: a sandbox that is starting holds every mount for an instant. */
const detachPausesMs = [0, 5, 20, 50, 100, 200, 400, 800, 1_600, 3_200] as const;
/** Of mounts on top of each other, which only killed servers can leave. */
const maxStacked = 16;
const blockBytes = 4_096;
/** Room in the tables for one file in so many bytes. */
const inodeBytes = 16_384;
const maxBytes = 16 * 2 ** 40 - blockBytes;
const smallJournalMb = 4;
const journalMb = 16;
const smallDiskBytes = 512 * 2 ** 20;

const probePrefix = 'probe-';
/** The directory of a disk that is /workspace. */
export const filesName = 'files';

/** Somebody holds on to a disk that was to be removed; what came before has been done. */
export class DiskInUseError extends EmergentError {
  /** The disk's file, as the kernel names it. */
  readonly image: string;

  constructor(image: string, message: string) {
    super('provider_failed', message);
    this.image = image;
  }
}

/**
 * Disks of workspaces: a sparse file with ext4 each, mounted on the host.
 *
 * absent -> make() -> mounted -> remove() -> absent; a reboot of the host leaves the file, and mount() mounts it.
 *
 * /workspace is a directory inside the mounted file system. Nobody sees lost+found, and a disk that is not mounted
 * has no such directory: the engine fails to bind it, where it would bind the empty mount point and so a directory
 * without any limit.
 *
 * Everything is idempotent and found again by name, so a server that is killed between two steps leaves nothing
 * that `list` does not show and `remove` does not take.
 */
export class LoopDisks {
  readonly #root: string;
  readonly #clock: Clock;
  readonly #tool: HostTool;

  constructor(root: string, clock: Clock, run: HostRun) {
    this.#root = root;
    this.#clock = clock;
    this.#tool = hostToolBy(run);
  }

  place(workspaceId: string): DiskPlace {
    return placeIn(this.#root, workspaceId);
  }

  probePlace(name: string): DiskPlace {
    return placeIn(this.#root, `${probePrefix}${name}`);
  }

  /** What can be granted of a size: the whole file system at most; it is shared by all. */
  async granted(bytes: number): Promise<number> {
    const directory = dirname(this.#root);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const { blocks, bsize } = await statfs(directory);
    const most = Math.min(bytes, blocks * bsize, maxBytes);
    return most - (most % blockBytes);
  }

  /** Where nothing is: whoever makes one anew removes first what is left of the old one. */
  async make(place: DiskPlace, bytes: number, signal: AbortSignal): Promise<void> {
    await mkdir(place.mount, { recursive: true, mode: 0o700 });
    const image = await open(place.image, 'wx', 0o600);
    try {
      await image.truncate(bytes);
    } finally {
      await image.close();
    }
    signal.throwIfAborted();
    const journal = bytes < smallDiskBytes ? smallJournalMb : journalMb;
    // Sizes as for large disks: those of small ones would give a tenth of the space away for tables.
    const sizes = [
      '-b',
      String(blockBytes),
      '-i',
      String(inodeBytes),
      '-J',
      `size=${String(journal)}`,
    ];
    const lazy = ['-E', 'lazy_itable_init=1,lazy_journal_init=1,nodiscard'];
    await this.#tool(
      ['mkfs.ext4', '-q', '-F', '-m', '0', ...sizes, ...lazy, place.image],
      formatMs,
    );
    signal.throwIfAborted();
    await attach(place, this.#tool);
    await mkdir(place.files, { recursive: true });
    // Not by mkdir's own mode: that is subject to the umask.
    await chmod(place.files, 0o755);
  }

  /** Mounts one that exists, unless it is mounted. */
  async mount(place: DiskPlace): Promise<void> {
    if (!(await this.exists(place))) {
      throw new EmergentError(
        'files_lost',
        `the files of the workspace are gone: there is no disk ${place.image}`,
      );
    }
    if (!(await isMounted(place))) {
      await mkdir(place.mount, { recursive: true, mode: 0o700 });
      await attach(place, this.#tool);
    }
    if (await madeAt(place.files)) return;
    throw new EmergentError('files_lost', `the disk ${place.image} holds no files of a workspace`);
  }

  /** The mount, the loop device, the file: whatever there is of them, in this order. */
  async remove(place: DiskPlace, signal: AbortSignal): Promise<void> {
    // The file goes last, so nothing is left where it is gone with its mount point.
    const [file, point] = await Promise.all([madeAt(place.image), madeAt(place.mount)]);
    if (!file && !point) return;
    await unmountAll(place.mount, this.#tool);
    await this.#detach(place.image, signal);
    await unlessMissing(rmdir(place.mount));
    await unlessMissing(unlink(place.image));
    // The last one takes the directories with it; the next one makes them again.
    await removeEmpty(dirname(place.mount));
    await removeEmpty(dirname(place.image));
  }

  async exists(place: DiskPlace): Promise<boolean> {
    return (await madeAt(place.image)) !== undefined;
  }

  /** Undefined where it is not mounted. */
  async use(place: DiskPlace): Promise<DiskUse | undefined> {
    if (!(await isMounted(place))) return undefined;
    const { blocks, bavail, bsize } = await statfs(place.mount);
    return { usedBytes: (blocks - bavail) * bsize, limitBytes: blocks * bsize };
  }

  async list(): Promise<readonly FoundDisk[]> {
    return (await this.#names())
      .filter(({ name }) => !name.startsWith(probePrefix))
      .map(({ name, ...disk }) => ({ workspaceId: name, ...disk }));
  }

  /** Those that killed servers left, by the names they were made with. */
  async listProbes(): Promise<readonly { readonly name: string; readonly createdAt: Date }[]> {
    return (await this.#names())
      .filter(({ name }) => name.startsWith(probePrefix))
      .map(({ name, createdAt }) => ({ name: name.slice(probePrefix.length), createdAt }));
  }

  async #names(): Promise<readonly ({ name: string } & Omit<FoundDisk, 'workspaceId'>)[]> {
    const images = (await entriesOf(this.#root)).filter((name) => name.endsWith('.img'));
    const mounts = await entriesOf(join(this.#root, 'mnt'));
    const names = new Set([...images.map((name) => name.slice(0, -'.img'.length)), ...mounts]);
    const found = await Promise.all(
      [...names].map(async (name) => {
        const { image, mount } = this.place(name);
        const [file, point] = await Promise.all([madeAt(image), madeAt(mount)]);
        const parts = [
          ...(file ? [`disk ${image}`] : []),
          ...(point ? [`mount point ${mount}`] : []),
        ];
        const createdAt = file ?? point;
        return createdAt ? [{ name, createdAt, whole: file !== undefined, parts }] : [];
      }),
    );
    return found.flat();
  }

  async #detach(image: string, signal: AbortSignal): Promise<void> {
    const file = await resolvedPath(image);
    let held: readonly string[] = [];
    for (const pause of detachPausesMs) {
      await this.#clock.sleep(pause, signal);
      held = await loopDevicesOf(file);
      if (held.length === 0) return;
      // One that is in use goes with its last user after this.
      for (const device of held) {
        await this.#tool(['losetup', '--detach', device], detachMs).catch(
          async (error: unknown) => {
            if ((await loopDevicesOf(file)).includes(device)) throw error;
          },
        );
      }
    }
    throw new DiskInUseError(file, `the disk ${image} is still used by ${held.join(', ')}`);
  }
}

/** The place of a disk that another server, with another directory, has made, from the volume that binds it. */
export function placeOfFiles(files: string): DiskPlace {
  const mount = dirname(files);
  const workspaceId = mount.slice(dirname(mount).length + 1);
  return placeIn(dirname(dirname(mount)), workspaceId);
}

function placeIn(root: string, name: string): DiskPlace {
  const mount = join(root, 'mnt', name);
  return { image: join(root, `${name}.img`), mount, files: join(mount, filesName) };
}

/**
 * By mount's own loop option: the device goes when it is unmounted, and is never there without a mount. Freed
 * blocks go back to the host; the tables of a sparse file are zero already and need no initialising.
 */
async function attach(place: DiskPlace, tool: HostTool): Promise<void> {
  const options = 'loop,nosuid,nodev,noatime,discard,noinit_itable';
  await tool(['mount', '-t', 'ext4', '-o', options, place.image, place.mount], mountMs);
  const device = (await mountsUnder(await resolvedPath(place.mount))).at(-1)?.device;
  if (device === undefined) {
    throw new EmergentError('provider_failed', `${place.image} was mounted and is not there`);
  }
  // Without it every page is cached twice. Not every file system has it, and nothing waits for it or depends on it.
  void tool(['losetup', '--direct-io=on', device], detachMs).catch(() => undefined);
}

/** Whether it is this disk, and nothing else, that is to be seen at its mount point. */
async function isMounted(place: DiskPlace): Promise<boolean> {
  const point = await resolvedPath(place.mount);
  const top = (await mountsUnder(point)).filter((mount) => mount.point === point).at(-1);
  if (!top) return false;
  if (top.image === (await resolvedPath(place.image))) return true;
  throw new EmergentError('provider_failed', `${place.mount} is in use by ${top.device}`);
}

async function unmountAll(directory: string, tool: HostTool): Promise<void> {
  const point = await resolvedPath(directory);
  for (let turn = 0; turn < maxStacked; turn++) {
    const top = (await mountsUnder(point)).at(-1);
    if (!top) return;
    try {
      await tool(['umount', top.point], unmountMs);
    } catch (error) {
      // Somebody else was faster, or somebody looks into it: its device tells when the last of them has left.
      if ((await mountsUnder(point)).length === 0) return;
      if (!(error instanceof HostToolError)) throw error;
      await tool(['umount', '--lazy', top.point], unmountMs);
    }
  }
  throw new EmergentError('provider_failed', `${directory} cannot be unmounted`);
}
