import type Docker from 'dockerode';
import { allPids, commandLine } from '../../src/host/processes.ts';

/** A process that an engine's containerd started for a container. */
export interface EngineProcess {
  readonly pid: number;
  /** Undefined: it does not tell. */
  readonly containerId: string | undefined;
  /** `removal`: clears up after a container whose shim has ended, and ends by itself. */
  readonly kind: 'sandbox' | 'shim' | 'removal';
}

/**
 * What runs on the host for the containers of the engine in `directory`: shims and sandboxes. An engine that is
 * killed while it starts a container forgets that it did: these processes then run on, and no call to the engine
 * shows or ends them.
 */
export async function processesOfEngine(directory: string): Promise<readonly EngineProcess[]> {
  const found: EngineProcess[] = [];
  for (const pid of await allPids()) {
    const argv = await commandLine(pid);
    const isSandbox =
      /^runsc/.test(argv[0] ?? '') && argv.some((part) => part.includes(`${directory}/`));
    const isShim = /shim/.test(argv[0] ?? '') && argv.includes(`${directory}/containerd.sock`);
    if (!isSandbox && !isShim) continue;
    const containerId = isShim
      ? argv[argv.indexOf('-id') + 1]
      : /\/moby\/([0-9a-f]{64})\//.exec(argv.join(' '))?.[1];
    const shimKind = argv.at(-1) === 'delete' ? 'removal' : 'shim';
    found.push({ pid, containerId, kind: isShim ? shimKind : 'sandbox' });
  }
  return found;
}

/** A container that its engine does not know. */
export interface Stray {
  readonly id: string;
  /** False: only the shim is left, which is containerd's own. */
  readonly hasSandbox: boolean;
}

/** What is started meanwhile is known by the time that the engine is asked. */
export async function forgottenContainers(
  directory: string,
  engine: Docker,
): Promise<readonly Stray[]> {
  const running = (await processesOfEngine(directory)).filter(({ kind }) => kind !== 'removal');
  const known = new Set((await engine.listContainers({ all: true })).map(({ Id: id }) => id));
  const ids = new Set(running.flatMap(({ containerId }) => containerId ?? []));
  return [...ids.difference(known)].map((id) => ({
    id,
    hasSandbox: running.some(({ containerId, kind }) => containerId === id && kind === 'sandbox'),
  }));
}

/** One that has ended with another, as a sandbox does with its shim, is no failure. */
export function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
