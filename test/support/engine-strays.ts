import { allPids, commandLine } from '../../src/host/processes.ts';

/** A process that an engine's containerd started for a container. */
export interface EngineProcess {
  readonly pid: number;
  /** Of the container; only its shim tells. */
  readonly containerId: string | undefined;
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
    found.push({ pid, containerId: isShim ? argv[argv.indexOf('-id') + 1] : undefined });
  }
  return found;
}
