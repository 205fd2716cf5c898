import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { systemClock } from '../../../../src/base/clock.ts';
import type { Clock } from '../../../../src/base/clock.ts';
import type { SandboxRef } from '../../../../src/domain/provider.ts';
import { hostNetworkBy } from '../../../../src/host/network.ts';
import { run } from '../../../../src/host/run.ts';
import { runtimeProber } from '../../../../src/host/runsc/runtime-prober.ts';
import { ContainerEngine } from '../../../../src/providers/gvisor/container-engine.ts';
import type { ContainerEngineOptions } from '../../../../src/providers/gvisor/container-engine.ts';
import { gvisorProfile } from '../../../../src/providers/gvisor/container-profile.ts';
import type { ContainerProfile } from '../../../../src/providers/gvisor/container-profile.ts';
import { labels, volumeName } from '../../../../src/providers/gvisor/container-spec.ts';
import { unlinkVolume } from '../../../../src/providers/gvisor/disk/volume-link.ts';
import { dockerClient } from '../../../../src/providers/gvisor/docker.ts';
import { ContainerProvider } from '../../../../src/providers/gvisor/provider.ts';
import { TestSandbox, newSpec, soon } from '../../../conformance/sandbox.ts';
import { testHost } from '../../../support/host.ts';
import { recordLog } from '../../../support/log.ts';
import { tool } from './disk-state.ts';

export interface InstallationOptions extends ContainerEngineOptions {
  readonly profile: ContainerProfile;
}

/** Only what rests is frozen: calls of the engine that tests make behind the provider's back wait for a frozen one. */
const neverByItselfMs = 3_600_000;

/** An installation of a test's own, on the shared engine unless told, and the engine itself to act behind its back. */
export class Installation implements AsyncDisposable {
  readonly options: InstallationOptions;
  readonly docker: Docker;
  readonly provider: ContainerProvider;
  readonly #engines: ContainerEngine[] = [];

  static async make(
    clock: Clock = systemClock,
    changes: Partial<InstallationOptions> = {},
  ): Promise<Installation> {
    const host = await testHost();
    const dockerHost = changes.dockerHost ?? process.env['DOCKER_HOST'];
    return new Installation({
      image: host.image,
      agentPaths: host.agentPaths,
      profile: gvisorProfile(host.runtime.state === 'present' ? host.runtime.name : 'runsc'),
      dockerHost,
      tryRuntime: runtimeProber(dockerHost),
      installationId: randomUUID(),
      key: randomBytes(32),
      nameservers: [],
      diskDir: await mkdtemp(join(tmpdir(), 'emergent-disks-')),
      diskMode: 'auto',
      onIncident: () => undefined,
      hostNetwork: hostNetworkBy(run),
      hostRun: run,
      allowUnfilteredNetwork: false,
      idleFreezeMs: neverByItselfMs,
      clock,
      log: recordLog().log,
      ...changes,
    });
  }

  constructor(options: InstallationOptions) {
    this.options = options;
    this.docker = dockerClient(options.dockerHost);
    this.provider = this.restarted();
  }

  /** The provider of another server of the same installation. */
  restarted(profile = this.options.profile): ContainerProvider {
    const engine = new ContainerEngine(this.options);
    this.#engines.push(engine);
    return new ContainerProvider(engine, profile);
  }

  /** Another provider beside the first, on the same engine. */
  beside(profile: ContainerProfile): ContainerProvider {
    const [engine] = this.#engines;
    if (!engine) throw new Error('the installation has no engine');
    return new ContainerProvider(engine, profile);
  }

  /** A sandbox that is not made yet. */
  sandbox(): TestSandbox {
    return new TestSandbox(this.provider, newSpec(this.options.image));
  }

  async created(): Promise<TestSandbox> {
    const sandbox = this.sandbox();
    await this.provider.create(sandbox.spec, soon());
    return sandbox;
  }

  async removeContainer({ sandboxName }: SandboxRef): Promise<void> {
    await this.docker.getContainer(sandboxName).remove({ force: true });
  }

  /** The engine does not remove one that is linked to a disk. */
  async removeVolume({ workspaceId }: SandboxRef): Promise<void> {
    const volume = this.docker.getVolume(volumeName(workspaceId));
    await unlinkVolume((await volume.inspect()).Mountpoint);
    await volume.remove();
  }

  /** The volume, and the disk below it, which alone would be enough. */
  async removeFiles(ref: SandboxRef): Promise<void> {
    await this.removeVolume(ref);
    const { image, mount } = this.#disk(ref);
    await tool('umount', mount);
    await rm(image);
    await rm(mount, { recursive: true });
  }

  /** Puts a container that runs this in the place of the sandbox's own, on whatever volume is there. */
  async replaceContainer(ref: SandboxRef, entrypoint: readonly string[]): Promise<void> {
    await this.removeContainer(ref);
    await this.createContainer(ref, entrypoint);
  }

  async createContainer(
    { workspaceId, sandboxName }: SandboxRef,
    entrypoint: readonly string[],
    installationId = this.options.installationId,
  ): Promise<void> {
    await this.docker.createContainer({
      name: sandboxName,
      Image: this.options.image,
      Entrypoint: [...entrypoint],
      Labels: { [labels.installation]: installationId, [labels.workspace]: workspaceId },
      HostConfig: {
        NetworkMode: 'none',
        Mounts: [{ Type: 'volume', Source: volumeName(workspaceId), Target: '/workspace' }],
      },
    });
  }

  /** What is listed of the disk below a volume, in mode `loop`. */
  diskParts({ workspaceId }: SandboxRef): readonly string[] {
    const { image, mount } = this.#disk({ workspaceId });
    return [`disk ${image}`, `mount point ${mount}`];
  }

  diskFiles(ref: SandboxRef): string {
    return join(this.#disk(ref).mount, 'files');
  }

  #disk({ workspaceId }: Pick<SandboxRef, 'workspaceId'>): { image: string; mount: string } {
    const directory = join(this.options.diskDir, this.options.installationId);
    return {
      image: join(directory, `${workspaceId}.img`),
      mount: join(directory, 'mnt', workspaceId),
    };
  }

  async hasVolume({ workspaceId }: SandboxRef): Promise<boolean> {
    const name = volumeName(workspaceId);
    const { Volumes } = await this.docker.listVolumes({ filters: { name: [name] } });
    return Volumes.length > 0;
  }

  /** Removes what the tests have left, and says what that was. */
  async clean(): Promise<readonly string[]> {
    const left = await this.provider.list(soon());
    for (const sandbox of left) await this.provider.destroy(sandbox, soon());
    return left.flatMap(({ parts }) => parts);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clean();
    await this.provider[Symbol.asyncDispose]();
    for (const engine of this.#engines) await engine[Symbol.asyncDispose]();
    await rm(this.options.diskDir, { recursive: true, force: true });
  }
}
