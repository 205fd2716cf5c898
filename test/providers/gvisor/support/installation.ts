import { randomBytes, randomUUID } from 'node:crypto';
import type Docker from 'dockerode';
import { systemClock } from '../../../../src/base/clock.ts';
import type { Clock } from '../../../../src/base/clock.ts';
import type { SandboxRef } from '../../../../src/domain/provider.ts';
import { labels, volumeName } from '../../../../src/providers/gvisor/container-spec.ts';
import { dockerClient } from '../../../../src/providers/gvisor/docker.ts';
import { GvisorProvider } from '../../../../src/providers/gvisor/provider.ts';
import type { GvisorOptions } from '../../../../src/providers/gvisor/provider.ts';
import { TestSandbox, newSpec, soon } from '../../../conformance/sandbox.ts';
import { testHost } from '../../../support/host.ts';
import { recordLog } from '../../../support/log.ts';

/** An installation of a test's own on the shared engine, and the engine itself to act behind its back. */
export class Installation implements AsyncDisposable {
  readonly options: GvisorOptions;
  readonly docker: Docker;
  readonly provider: GvisorProvider;

  static async make(clock: Clock = systemClock): Promise<Installation> {
    const host = await testHost();
    return new Installation({
      image: host.image,
      agentPaths: host.agentPaths,
      runtime: host.runtime.state === 'present' ? host.runtime.name : 'runsc',
      dockerHost: process.env['DOCKER_HOST'],
      installationId: randomUUID(),
      key: randomBytes(32),
      nameservers: [],
      clock,
      log: recordLog().log,
    });
  }

  constructor(options: GvisorOptions) {
    this.options = options;
    this.docker = dockerClient(options.dockerHost);
    this.provider = new GvisorProvider(options);
  }

  /** The provider of another server of the same installation. */
  restarted(): GvisorProvider {
    return new GvisorProvider(this.options);
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

  async removeVolume({ workspaceId }: SandboxRef): Promise<void> {
    await this.docker.getVolume(volumeName(workspaceId)).remove();
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
  }
}
