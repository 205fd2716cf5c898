import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Docker from 'dockerode';

const run = promisify(execFile);

/** What a sandbox costs by the engine's own calls alone: as few of them as there can be. */
export class BareSandbox implements AsyncDisposable {
  readonly #docker: Docker;
  readonly #name: string;
  readonly #options: Docker.ContainerCreateOptions;
  /** Where disks are made; undefined: the volume is a plain one. */
  readonly #disks: string | undefined;
  readonly #diskBytes: number;

  private constructor(
    docker: Docker,
    name: string,
    options: Docker.ContainerCreateOptions,
    disks: string | undefined,
    diskBytes: number,
  ) {
    this.#docker = docker;
    this.#name = name;
    this.#options = options;
    this.#disks = disks;
    this.#diskBytes = diskBytes;
  }

  /** With the runtime, the limits, the network and the image of a container that exists; several by their number. */
  static async like(container: string, withDisk: boolean, number = 0): Promise<BareSandbox> {
    const docker = new Docker();
    const name = `emergent-bench-bare-${String(process.pid)}-${String(number)}`;
    const { Config, HostConfig } = await docker.getContainer(container).inspect();
    const disks = withDisk ? await mkdtemp(join(tmpdir(), 'emergent-bench-disks-')) : undefined;
    const options = {
      name,
      Image: Config.Image,
      Entrypoint: ['sleep', 'infinity'],
      WorkingDir: Config.WorkingDir,
      HostConfig: {
        ...HostConfig,
        Mounts: [{ Type: 'volume' as const, Source: name, Target: '/workspace' }],
      },
    };
    return new BareSandbox(docker, name, options, disks, 10 * 2 ** 30);
  }

  /** Resolves when a first command has ended. */
  async create(): Promise<void> {
    await this.start();
    await this.firstCommand();
  }

  async start(): Promise<void> {
    const docker = this.#docker;
    await docker.createVolume({ Name: this.#name, DriverOpts: await this.#makeDisk() });
    await (await docker.createContainer(this.#options)).start();
  }

  async firstCommand(): Promise<void> {
    const container = this.#docker.getContainer(this.#name);
    const exec = await container.exec({ Cmd: ['true'], AttachStdout: true, AttachStderr: true });
    const output = await exec.start({ hijack: false });
    output.resume();
    await once(output, 'end');
    const { ExitCode: code } = await exec.inspect();
    if (code !== 0) throw new Error(`exit code ${String(code)}`);
  }

  async remove(): Promise<void> {
    await this.#docker.getContainer(this.#name).remove({ force: true });
    await this.#docker.getVolume(this.#name).remove();
    if (this.#disks === undefined) return;
    await run('umount', [join(this.#disks, 'mount')]);
    await rm(join(this.#disks, 'image'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#disks !== undefined) await rm(this.#disks, { recursive: true, force: true });
  }

  async #makeDisk(): Promise<Record<string, string>> {
    if (this.#disks === undefined) return {};
    const [image, mount] = [join(this.#disks, 'image'), join(this.#disks, 'mount')];
    const file = await open(image, 'wx');
    await file.truncate(this.#diskBytes);
    await file.close();
    const lazy = 'lazy_itable_init=1,lazy_journal_init=1,nodiscard';
    await run('mkfs.ext4', ['-q', '-F', '-m', '0', '-J', 'size=16', '-E', lazy, image]);
    await mkdir(mount, { recursive: true });
    await run('mount', ['-o', 'loop,noatime,discard,noinit_itable', image, mount]);
    const files = join(mount, 'files');
    await mkdir(files);
    return { type: 'none', o: 'bind', device: files };
  }
}
