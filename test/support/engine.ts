import { mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';

import { systemClock } from '../../src/base/clock.ts';
import { withDeadline } from '../../src/base/deadline.ts';
import { inParallel } from '../../src/base/parallel.ts';
import { askEngine } from '../../src/host/docker/engine.ts';
import { mountPoints } from '../../src/host/probes/disk.ts';
import { findProgram } from '../../src/host/programs.ts';
import { run } from '../../src/host/run.ts';
import { Daemon } from './engine-daemon.ts';
import { addMissingImages, plantImages, sharedEngine } from './engine-images.ts';
import { endProcess, forgottenContainers, processesOfEngine } from './engine-strays.ts';
import type { Stray } from './engine-strays.ts';

export interface PrivateEngineOptions {
  /** Images of the shared engine that this one starts with. */
  readonly images?: readonly string[];
  /** Gives it a bridge; without one its containers have no network. */
  readonly network?: boolean;
  /** Lets it set rules in its own namespace, as an engine does on a host. */
  readonly iptables?: boolean;
  /** Keeps its containers running while it is stopped; unless told it does. */
  readonly liveRestore?: boolean;
  /** What it knows besides runc, in place of the shared engine's runsc. */
  readonly runtimes?: Readonly<Record<string, PrivateRuntime>>;
}

export interface PrivateRuntime {
  readonly path: string;
  readonly runtimeArgs: readonly string[];
}

/**
 * A Docker engine of a test's own, with its own data, socket and containerd, for tests that stop and start an
 * engine. It knows the shared engine's runsc. Needs root. Disposing of it leaves nothing behind.
 *
 * stopped -> start() -> running -> stop() | kill() -> stopped
 */
export interface PrivateEngine extends AsyncDisposable {
  readonly socket: string;
  readonly docker: Docker;
  /** The network namespace that is a host's network to it, for `nsenter`. */
  readonly namespace: string;
  start(): Promise<void>;
  /** As an administrator stops it; with live-restore its containers go on running. */
  stop(): Promise<void>;
  /** As a crash ends it. */
  kill(): Promise<void>;
  /**
   * As a host that loses its power ends it, together with all its containers, networks and rules; what was on
   * disk is there again after start().
   */
  cutPower(): Promise<void>;
  /** A crash after which it no longer knows these containers, though they run. */
  forget(ids: readonly string[]): Promise<void>;
  /** Containers that run though the engine does not know them: it was ended while it started them. */
  strays(): Promise<readonly Stray[]>;
}

/** A loaded machine takes its time. */
const startMs = 90_000;
const goneMs = 60_000;

export async function startPrivateEngine(
  options: PrivateEngineOptions = {},
): Promise<PrivateEngine> {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await engineDirectory(options));
  const images = options.images ?? [];
  await plantImages(join(directory.path, 'data'), images, withEngine);
  const engine = starting.use(new EngineProcesses(directory.path, options));
  await engine.start();
  await addMissingImages(engine.docker, images);
  const owned = starting.move();
  return {
    socket: engine.socket,
    docker: engine.docker,
    namespace: engine.namespace,
    start: () => engine.start(),
    stop: () => engine.stop('SIGTERM'),
    kill: () => engine.stop('SIGKILL'),
    cutPower: () => engine.cutPower(),
    forget: (ids) => engine.forget(ids),
    strays: () => engine.strays(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Only to be given images: with nothing but a data directory of its own. */
async function withEngine(data: string, use: (docker: Docker) => Promise<void>): Promise<void> {
  await using directory = await engineDirectory({ runtimes: {} });
  await using engine = new EngineProcesses(directory.path, {}, data);
  await engine.start();
  await use(engine.docker);
}

/** With a short name: paths of sockets are bounded. */
async function engineDirectory(
  options: PrivateEngineOptions,
): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'ee-'));
  try {
    await writeFile(join(path, 'daemon.json'), JSON.stringify(await settings(options)));
  } catch (error) {
    await removeTree(path);
    throw error;
  }
  return { path, [Symbol.asyncDispose]: () => removeTree(path) };
}

/**
 * Two processes, as on a machine with an init system: containerd outlives a crash of dockerd. Both live in a
 * network namespace of their own, which containerd keeps: a dockerd changes the bridges and rules of the
 * namespace it is in, and would take those of the machine's own engine for its own.
 */
class EngineProcesses implements AsyncDisposable {
  readonly socket: string;
  readonly docker: Docker;
  readonly #directory: string;
  readonly #containerd: Daemon;
  readonly #dockerd: Daemon;

  constructor(
    directory: string,
    { network = false, iptables = false }: PrivateEngineOptions,
    data = join(directory, 'data'),
  ) {
    const at = (name: string): string => join(directory, name);
    this.#directory = directory;
    this.socket = at('docker.sock');
    this.docker = new Docker({ socketPath: this.socket });
    this.#containerd = new Daemon(at('containerd.log'), async () => [
      ...['unshare', '--net', await programPath('containerd')],
      ...['--config', at('containerd.toml'), '--address', at('containerd.sock')],
      ...['--root', at('containerd'), '--state', at('containerd-state')],
    ]);
    this.#dockerd = new Daemon(at('dockerd.log'), async () => [
      ...['nsenter', `--net=${this.namespace}`],
      await programPath('dockerd'),
      ...['--config-file', at('daemon.json'), '--host', `unix://${this.socket}`],
      ...['--data-root', data, '--exec-root', at('exec'), '--pidfile', at('docker.pid')],
      ...['--containerd', at('containerd.sock'), '--ip6tables=false'],
      ...[`--iptables=${String(iptables)}`],
      ...(network ? [] : ['--bridge=none']),
    ]);
  }

  get namespace(): string {
    return `/proc/${String(this.#containerd.pid)}/ns/net`;
  }

  async start(): Promise<void> {
    const config = 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n';
    await writeFile(join(this.#directory, 'containerd.toml'), config);
    await this.#containerd.start();
    await withDeadline('a network namespace', startMs, (signal) => this.#namespaceIsOwn(signal));
    // A killed one leaves it; whatever has its number by now keeps the next from starting.
    if (this.#dockerd.pid === undefined)
      await rm(join(this.#directory, 'docker.pid'), { force: true });
    await this.#dockerd.start();
    const answered = withDeadline('the private engine', startMs, (signal) => this.#answers(signal));
    answered.catch(() => undefined);
    const failures = [this.#containerd.failure(), this.#dockerd.failure()];
    for (const failure of failures) failure.catch(() => undefined);
    await Promise.race([answered, ...failures]);
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#dockerd.stop(signal);
  }

  async cutPower(): Promise<void> {
    await this.#dockerd.stop('SIGKILL');
    await this.#containerd.stop('SIGKILL');
    await this.#endAll();
    // What lies in memory on a host.
    for (const name of ['containerd-state', 'exec']) {
      await unmountBelow(join(this.#directory, name));
      await rm(join(this.#directory, name), { recursive: true, force: true });
    }
    await unmountBelow(this.#directory);
  }

  async forget(ids: readonly string[]): Promise<void> {
    await this.#dockerd.stop('SIGKILL');
    for (const id of ids) {
      await rm(join(this.#directory, 'data', 'containers', id), { recursive: true });
    }
    await this.start();
  }

  async strays(): Promise<readonly Stray[]> {
    return forgottenContainers(this.#directory, this.docker);
  }

  /** Live-restore keeps containers of a stopped engine running, so they are removed through a running one. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.start();
      // No call of the engine reaches a frozen one.
      for (const { pid, kind } of await processesOfEngine(this.#directory)) {
        if (kind === 'sandbox') endProcess(pid);
      }
      const containers = await this.docker.listContainers({ all: true });
      await inParallel(4, containers, ({ Id: id }) =>
        this.docker.getContainer(id).remove({ force: true, v: true }),
      );
    } finally {
      await this.#dockerd.stop('SIGTERM');
      await this.#containerd.stop('SIGTERM');
      await this.#endAll();
    }
  }

  /** What still runs for its containers; until it does no longer, it uses files of the engine. */
  async #endAll(): Promise<void> {
    await withDeadline('the end of what the engine has started', goneMs, async (signal) => {
      for (;;) {
        const running = await processesOfEngine(this.#directory);
        if (running.length === 0) return;
        for (const { pid } of running) endProcess(pid);
        await systemClock.sleep(20, signal);
      }
    });
  }

  /** A dockerd that is faster than `unshare` would enter the machine's own namespace. */
  async #namespaceIsOwn(signal: AbortSignal): Promise<void> {
    const machine = await readlink('/proc/self/ns/net');
    while ((await readlink(this.namespace)) === machine) await systemClock.sleep(5, signal);
  }

  async #answers(signal: AbortSignal): Promise<void> {
    const endpoint = { kind: 'unix', socketPath: this.socket } as const;
    for (;;) {
      const engine = await askEngine(endpoint, signal).catch(() => undefined);
      if (engine) return;
      await systemClock.sleep(50, signal);
    }
  }
}

async function programPath(name: string): Promise<string> {
  return (await findProgram(name)) ?? name;
}

async function settings({
  liveRestore = true,
  runtimes,
}: PrivateEngineOptions): Promise<Record<string, unknown>> {
  return { 'live-restore': liveRestore, runtimes: runtimes ?? (await sharedRuntimes()) };
}

/** The gVisor runtimes that the shared engine knows. */
export async function sharedRuntimes(): Promise<Record<string, PrivateRuntime>> {
  const { info } = await sharedEngine();
  const known = Object.entries(info.Runtimes ?? {});
  const added = known.filter(([name]) => name.startsWith('runsc'));
  if (added.length === 0) throw new Error('the shared engine knows no runsc');
  return Object.fromEntries(
    added.map(([name, { path = '', runtimeArgs }]) => [
      name,
      { path, runtimeArgs: runtimeArgs ?? [] },
    ]),
  );
}

/** A removed container's mounts can outlive it for a moment; nothing under the directory may stay mounted. */
async function removeTree(directory: string): Promise<void> {
  await unmountBelow(directory);
  await rm(directory, { recursive: true, force: true });
}

async function unmountBelow(directory: string): Promise<void> {
  const mounted = mountPoints(await readFile('/proc/self/mountinfo', 'utf8'))
    .filter((path) => path.startsWith(`${directory}/`))
    .sort((left, right) => right.length - left.length);
  for (const path of mounted) {
    await run(['umount', '--lazy', path], { timeoutMs: 10_000 });
  }
}
