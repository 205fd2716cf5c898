import { readFile, readdir, readlink } from 'node:fs/promises';
import type Docker from 'dockerode';
import { hostDisks } from '../chaos/host-disks.ts';
import { allPids, commandLine } from '../../src/host/processes.ts';

/** Everything on a host that belongs to some hosted servers, in words; empty when they have left nothing. */
export class McpTraces {
  readonly #docker: Docker;
  readonly #diskDir: string;
  readonly #ids = new Set<string>();
  readonly #containers = new Set<string>();

  /** `diskDir` holds the disks of the server under test and of no other. */
  constructor(docker: Docker, diskDir: string) {
    this.#docker = docker;
    this.#diskDir = diskDir;
  }

  /** While it is there: its processes are later known by its container. */
  async remember(id: string): Promise<void> {
    this.#ids.add(id);
    for (const { Id: container } of await this.#containersOf(id)) this.#containers.add(container);
  }

  async left(): Promise<readonly string[]> {
    const disks = await hostDisks(this.#diskDir);
    const found = await Promise.all([...this.#ids].map((id) => this.#resourcesOf(id)));
    return [
      ...found.flat(),
      ...disks.images.map((id) => `image of the disk of ${id}`),
      ...disks.mounts.map((id) => `mounted disk of ${id}`),
      ...disks.devices.map((id) => `loop device of ${id}`),
      ...(await this.#processes()),
    ];
  }

  async #resourcesOf(id: string): Promise<readonly string[]> {
    const { Volumes: volumes } = await this.#docker.listVolumes({ filters: labelled(id) });
    return [
      ...(await this.#containersOf(id)).map(({ Names: [name = ''] }) => `container ${name}`),
      ...volumes.map(({ Name: name }) => `volume ${name}`),
    ];
  }

  #containersOf(id: string): Promise<Docker.ContainerInfo[]> {
    return this.#docker.listContainers({ all: true, filters: labelled(id) });
  }

  async #processes(): Promise<readonly string[]> {
    const all = await Promise.all((await allPids()).map((pid) => commandLine(pid)));
    return all.flatMap((words) => {
      const line = words.join(' ');
      return [...this.#containers].some((id) => line.includes(id)) ? [`process ${line}`] : [];
    });
  }
}

function labelled(id: string): { label: string[] } {
  return { label: [`dev.emergent.workspace=${id}`] };
}

/** How many open files of each kind a process has: sockets, pipes, files, and those of a database inside it. */
export async function openFiles(pid: number): Promise<Readonly<Record<string, number>>> {
  const directory = `/proc/${String(pid)}/fd`;
  const targets = await Promise.all(
    (await readdir(directory)).map((name) => readlink(`${directory}/${name}`).catch(() => '')),
  );
  const kinds = targets.filter((target) => target !== '').map((target) => kindOf(target));
  const counts: Record<string, number> = {};
  for (const kind of kinds) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

function kindOf(target: string): string {
  const special = /^(socket|pipe|anon_inode)/.exec(target)?.[1];
  // One for each part of a table that it has touched so far, until it has touched all.
  if (target.includes('/pglite/')) return 'database';
  return special ?? 'file';
}

/** The children of a process, by their command line. */
export async function childrenOf(pid: number): Promise<readonly string[]> {
  const path = `/proc/${String(pid)}/task/${String(pid)}/children`;
  const pids = (await readFile(path, 'utf8')).split(' ').filter((text) => text !== '');
  return Promise.all(pids.map(async (child) => (await commandLine(Number(child))).join(' ')));
}
