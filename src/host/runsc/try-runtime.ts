import { randomUUID } from 'node:crypto';
import { readdir, readlink } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Container } from 'dockerode';

import { systemClock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import { ownerIsGone, ownerLabel, thisOwner, trialLabel } from '../../base/process-owner.ts';
import { reasonOf } from '../../base/reason.ts';
import { option } from '../docker/daemon.ts';
import { commandLine } from '../processes.ts';
import type { Engine } from '../docker/engine.ts';
import { followProgress } from '../docker/progress.ts';
import { tarOf } from '../../base/tar.ts';
import { probeProgram } from './probe-program.ts';

const createMs = 10_000;
const usualStartMs = 10_000;
const cleanMs = 10_000;
/** What a removal takes longer for hangs. */
const promptMs = 500;
const forgottenAfterSeconds = 120;

/** What a container that really ran under the runtime showed. */
export interface RuntimeTrial {
  /** The kernel release seen inside: gVisor's own differs from the host's. */
  readonly kernel: string;
  /** Of gVisor's sandbox process; null for other runtimes, and where that process cannot be seen. */
  readonly platform: string | null;
  readonly network: string | null;
}

/**
 * Starts a container under the named runtime, waits for its first output and removes everything again, also
 * the processes that a failed start leaves behind. Throws when the container does not run within `startMs`.
 */
export async function tryRuntime(
  engine: Engine,
  runtime: string,
  signal?: AbortSignal,
  startMs = usualStartMs,
): Promise<RuntimeTrial> {
  await removeForgotten(engine);
  const image = await importProbeImage(engine);
  try {
    signal?.throwIfAborted();
    const container = await createProbe(engine, runtime, image, signal);
    return await tryInContainer(engine, container, runtime, startMs, signal);
  } finally {
    await withDeadline('removing the probe image', cleanMs, async () => {
      await engine.docker.getImage(image).remove({ force: true });
    });
  }
}

function createProbe(
  engine: Engine,
  runtime: string,
  image: string,
  signal?: AbortSignal,
): Promise<Container> {
  return withDeadline(
    'creating the probe container',
    createMs,
    async (abortSignal) =>
      engine.docker.createContainer({
        abortSignal,
        name: `emergent-probe-${randomUUID().slice(0, 8)}`,
        Image: image,
        Cmd: ['/probe'],
        Tty: true,
        Labels: { [trialLabel]: 'true', [ownerLabel]: await thisOwner() },
        HostConfig: { Runtime: runtime, NetworkMode: await networkFor(engine) },
      }),
    signal,
  );
}

async function tryInContainer(
  engine: Engine,
  container: Container,
  runtime: string,
  startMs: number,
  signal?: AbortSignal,
): Promise<RuntimeTrial> {
  let trial: RuntimeTrial;
  try {
    trial = await withDeadline(
      `a container under ${runtime}`,
      startMs,
      (starting) => startAndListen(engine, container, starting),
      signal,
    );
  } catch (error) {
    await removeFailed(engine, container, reasonOf(error));
    throw error;
  }
  await remove(container);
  return trial;
}

async function startAndListen(
  engine: Engine,
  container: Container,
  signal: AbortSignal,
): Promise<RuntimeTrial> {
  const output = await container.attach({ stream: true, stdout: true, stderr: true });
  try {
    const said = firstOutput(output, signal);
    await container.start({ abortSignal: signal });
    const kernel = await said;
    const { State: state } = await container.inspect({ abortSignal: signal });
    return { kernel, ...(await lookAtSandbox(engine, state.Pid)) };
  } finally {
    if (output instanceof Readable) output.destroy();
  }
}

/** Flags that are not given have gVisor's defaults; the platform's memory file or device shows which it is. */
async function lookAtSandbox(
  engine: Engine,
  pid: number,
): Promise<Pick<RuntimeTrial, 'platform' | 'network'>> {
  const argv = engine.local ? await commandLine(pid) : [];
  if (!argv[0]?.includes('runsc')) return { platform: null, network: null };
  const directory = `/proc/${String(pid)}/fd`;
  const descriptors = await readdir(directory).catch(() => []);
  const files = await Promise.all(
    descriptors.map((name) => readlink(`${directory}/${name}`).catch(() => '')),
  );
  return {
    platform: option(argv, '--platform') ?? platformOf(files),
    network: option(argv, '--network') ?? 'sandbox',
  };
}

export function platformOf(openFiles: readonly string[]): string | null {
  if (openFiles.length === 0) return null;
  if (openFiles.some((file) => file.includes('memfd:systrap'))) return 'systrap';
  return openFiles.includes('/dev/kvm') ? 'kvm' : 'ptrace';
}

/** Not async: the promise that is returned is the one whose early rejection is handled here. */
function firstOutput(output: NodeJS.ReadableStream, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  promise.catch(() => undefined);
  output.once('data', (chunk: Buffer) => {
    resolve(chunk.toString().trim());
  });
  output.once('error', reject);
  output.once('close', () => {
    reject(new Error('the container ended without running its command'));
  });
  signal.addEventListener(
    'abort',
    () => {
      reject(signal.reason as Error);
    },
    { once: true },
  );
  return promise;
}

/** Not cut short when the caller goes away: the engine would finish it, and nobody would know its name. */
async function importProbeImage(engine: Engine): Promise<string> {
  const content = probeProgram(engine.info.Architecture);
  return withDeadline('importing the probe image', createMs, async (abortSignal) => {
    const archive = Readable.from([await tarOf([{ name: 'probe', mode: 0o755, content }])]);
    // By these the sweep finds what a killed server left.
    const changes = `LABEL ${trialLabel}=true ${ownerLabel}=${await thisOwner()}`;
    const stream = await engine.docker.importImage(archive, { changes, abortSignal });
    return (await followProgress(stream)).lastStatus;
  });
}

/** Like a workspace's: with a network of its own where the engine has its bridge. */
async function networkFor(engine: Engine): Promise<string> {
  const networks = await engine.docker.listNetworks();
  return networks.some((network) => network.Name === 'bridge') ? 'bridge' : 'none';
}

async function remove(container: Container): Promise<void> {
  await withDeadline('removing the probe container', cleanMs, async (abortSignal) => {
    await container.remove({ force: true, v: true, abortSignal });
  });
}

/**
 * The sandbox of a failed start hangs in ways that keep the engine from removing the container, and what the engine
 * then starts to clear it up hangs as well.
 */
async function removeFailed(engine: Engine, container: Container, why: string): Promise<void> {
  const removal = remove(container).catch((error: unknown) => error);
  const hangs = (): Promise<boolean> =>
    withDeadline('the removal', promptMs, () => removal).then(
      () => false,
      () => true,
    );
  while (await hangs()) await killLeftProcesses(engine, container.id);
  await killLeftProcesses(engine, container.id);
  if ((await removal) === undefined) return;
  try {
    await removeAgain(container);
  } catch (error) {
    const left = `the probe container stays behind: ${reasonOf(error)}`;
    throw new Error(`${why}; ${left}`, { cause: error });
  }
}

/** The engine may still be at the first removal, and refuses another one meanwhile. */
async function removeAgain(container: Container): Promise<void> {
  try {
    await remove(container);
  } catch (error) {
    const status = statusOf(error);
    if (status === 404) return;
    if (status !== 409) throw error;
    await withDeadline('the removal of the probe container', cleanMs, (abortSignal) =>
      container.wait({ condition: 'removed', abortSignal }),
    ).catch((failure: unknown) => {
      if (statusOf(failure) !== 404) throw failure;
    });
  }
}

function statusOf(error: unknown): unknown {
  return error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
}

/** Every process whose command line names the container: shim, sandbox, gofer. Needs root, on this kernel. */
async function killLeftProcesses(engine: Engine, containerId: string): Promise<void> {
  if (!engine.local || process.getuid?.() !== 0) return;
  for (const entry of await readdir('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid)) continue;
    const argv = await commandLine(pid);
    if (!argv.some((argument) => argument.includes(containerId))) continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Containers of probes whose process was killed. */
async function removeForgotten(engine: Engine): Promise<void> {
  const now = systemClock.now().getTime() / 1000;
  const found = await withDeadline('listing containers', cleanMs, async () =>
    engine.docker.listContainers({ all: true, filters: { label: [`${trialLabel}=true`] } }),
  );
  for (const { Id: id, Created: created, Labels: labels } of found) {
    const young = now - created < forgottenAfterSeconds;
    if (young && !(await ownerIsGone(labels[ownerLabel] ?? ''))) continue;
    await removeUnlessGone(engine.docker.getContainer(id));
  }
}

/** Everybody who tries a runtime, or sweeps, may come upon the same one. */
async function removeUnlessGone(container: Container): Promise<void> {
  try {
    await remove(container);
  } catch (error) {
    const status = statusOf(error);
    if (status !== 404 && status !== 409) throw error;
  }
}
