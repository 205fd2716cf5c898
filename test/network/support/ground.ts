import { randomUUID } from 'node:crypto';
import { run } from '../../../src/host/run.ts';
import { runtimeProber } from '../../../src/host/runsc/runtime-prober.ts';
import { lockSetup } from '../../../src/host/setup/lock.ts';
import { identify } from '../../../src/providers/gvisor/network/engine-identity.ts';
import type { HostNetwork } from '../../../src/providers/gvisor/network/host-network.ts';
import { TestSandbox, newSpec, soon } from '../../conformance/sandbox.ts';
import { Installation } from '../../providers/gvisor/support/installation.ts';
import type { InstallationOptions } from '../../providers/gvisor/support/installation.ts';
import { startPrivateEngine } from '../../support/engine.ts';
import type { PrivateEngine } from '../../support/engine.ts';
import { recordLog } from '../../support/log.ts';
import type { RecordedLog } from '../../support/log.ts';
import { World, addresses, inNamespace } from './world.ts';

/** A private engine whose namespace is a whole host's network, with a world around it. */
export class Ground implements AsyncDisposable {
  readonly engine: PrivateEngine;
  readonly world: World;
  readonly installation: Installation;
  readonly recorded: RecordedLog;
  /** What the engine's chains and its interface end in. */
  readonly tag: string;
  readonly #owned: AsyncDisposableStack;

  static async make(): Promise<Ground> {
    await using starting = new AsyncDisposableStack();
    const shared = starting.use(await Installation.make());
    const images = [shared.options.image];
    const engine = starting.use(
      await startPrivateEngine({ images, network: true, iptables: true }),
    );
    const world = starting.use(await World.around(engine.namespace));
    const recorded = recordLog();
    const installation = starting.use(
      new Installation({
        ...shared.options,
        dockerHost: `unix://${engine.socket}`,
        tryRuntime: runtimeProber(`unix://${engine.socket}`),
        diskMode: 'monitor',
        nameservers: [addresses.resolver],
        hostNetwork: networkOf(engine.namespace),
        log: recorded.log,
      }),
    );
    const { tag } = await identify(engine.docker, soon());
    return new Ground({ engine, world, installation, recorded, tag }, starting.move());
  }

  private constructor(
    parts: Pick<Ground, 'engine' | 'world' | 'installation' | 'recorded' | 'tag'>,
    owned: AsyncDisposableStack,
  ) {
    this.engine = parts.engine;
    this.world = parts.world;
    this.installation = parts.installation;
    this.recorded = parts.recorded;
    this.tag = parts.tag;
    this.#owned = owned;
  }

  /** The rule that leads what comes from the bridge into a chain of ours. */
  jump(from: string, to: 'INPUT' | 'FORWARD'): string {
    return `${from} -i emergent-${this.tag} -j EMERGENT-${to}-${this.tag}`;
  }

  /** Another installation on the same engine. */
  another(changes: Partial<InstallationOptions> = {}): Installation {
    return new Installation({
      ...this.installation.options,
      installationId: randomUUID(),
      ...changes,
    });
  }

  async sandbox(
    network: 'nat' | 'isolated' = 'nat',
    installation: Installation = this.installation,
  ): Promise<TestSandbox> {
    const spec = { ...newSpec(installation.options.image), network };
    const sandbox = new TestSandbox(installation.provider, spec);
    await installation.provider.create(spec, soon());
    return sandbox;
  }

  async addressOf({ spec }: TestSandbox): Promise<string> {
    const container = await this.engine.docker.getContainer(spec.sandboxName).inspect();
    return container.NetworkSettings.Networks['emergent-nat']?.IPAddress ?? '';
  }

  /** An ordinary container that serves a port, published on every address of the host; its own address. */
  async published(port: number, hostPort: number): Promise<string> {
    const container = await this.engine.docker.createContainer({
      Image: this.installation.options.image,
      Entrypoint: ['python3', '-m', 'http.server', String(port)],
      ExposedPorts: { [`${String(port)}/tcp`]: {} },
      HostConfig: { PortBindings: { [`${String(port)}/tcp`]: [{ HostPort: String(hostPort) }] } },
    });
    await container.start();
    const { Networks } = (await container.inspect()).NetworkSettings;
    return Networks['bridge']?.IPAddress ?? '';
  }

  /** On the engine's host. */
  onHost(...lines: string[]): Promise<string> {
    return inNamespace(this.engine.namespace, lines);
  }

  /** Our part of the host's rules, of both families. */
  async rules(): Promise<readonly string[]> {
    const listing = await this.onHost('iptables -S', 'ip6tables -S');
    return listing.split('\n').filter((line) => line.includes('EMERGENT'));
  }

  async networks(): Promise<readonly string[]> {
    return (await this.engine.docker.listNetworks()).map(({ Name }) => Name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

function networkOf(namespace: string): HostNetwork {
  return {
    run: (argv, options) => run(['nsenter', `--net=${namespace}`, ...argv], options),
    lock: (signal) => lockSetup(() => undefined, signal, `emergent-network-${namespace}`),
  };
}
