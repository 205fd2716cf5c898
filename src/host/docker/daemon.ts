import { readFile } from 'node:fs/promises';

import { systemClock } from '../../base/clock.ts';
import { withDeadline } from '../../base/deadline.ts';
import { commandLine, pidsNamed } from '../processes.ts';
import type { RootAccess } from '../root.ts';
import { mergeDaemonJson } from './daemon-json.ts';
import type { DaemonChanges } from './daemon-json.ts';
import { systemSocket } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { askEngine } from './engine.ts';
import type { Engine, EngineInfo } from './engine.ts';
import { enginePidFile } from './pid-files.ts';

/** The process behind a local engine. */
export interface Daemon {
  readonly pid: number;
  readonly arguments: readonly string[];
  readonly configFile: string;
}

const defaultConfigFile = '/etc/docker/daemon.json';

/** The file a dockerd reads; the usual one before there is any. */
export function configFileOf(argv: readonly string[] | undefined): string {
  return option(argv ?? [], '--config-file') ?? defaultConfigFile;
}

/** The dockerd that serves this endpoint; undefined when it runs where we cannot see it. */
export async function findDaemon(endpoint: Endpoint): Promise<Daemon | undefined> {
  if (endpoint.kind !== 'unix') return undefined;
  const written = Number(await readFile(enginePidFile.path, 'utf8').catch(() => ''));
  for (const pid of await pidsNamed('dockerd')) {
    const argv = await commandLine(pid);
    if (serves(argv, endpoint.socketPath, pid === written)) {
      return { pid, arguments: argv, configFile: configFileOf(argv) };
    }
  }
  return undefined;
}

/** A machine may run several engines: one is known by the socket it was told, or as the system's own. */
export function serves(argv: readonly string[], socketPath: string, isSystems: boolean): boolean {
  const told = argv.some((argument) => argument.endsWith(`unix://${socketPath}`));
  return told || (isSystems && socketPath === systemSocket);
}

/**
 * Merges the changes into the daemon's own configuration file, has it read again and waits until the engine
 * shows them. `shows` is asked with every new state of the engine.
 */
export async function reconfigure(
  engine: Engine,
  changes: DaemonChanges,
  shows: (info: EngineInfo) => boolean,
  root: RootAccess,
  signal: AbortSignal,
): Promise<void> {
  const daemon = await configurableDaemon(engine, changes);
  const text = await readConfig(daemon.configFile);
  const merged = mergeConfig(text, changes, daemon.configFile);
  if (merged !== undefined) await root.writeFile(daemon.configFile, merged, signal);
  await root.run(['kill', '-HUP', String(daemon.pid)], { timeoutMs: 5_000, signal });
  await withDeadline(
    'the engine taking its new configuration',
    10_000,
    async (waiting) => {
      while (!shows((await askEngine(engine.endpoint, waiting)).info)) {
        await systemClock.sleep(100, waiting);
      }
    },
    signal,
  );
}

async function configurableDaemon(engine: Engine, changes: DaemonChanges): Promise<Daemon> {
  if (!engine.local)
    throw new Error('the engine is not on this machine; its settings are not ours');
  const daemon = await findDaemon(engine.endpoint);
  if (!daemon) throw new Error("the engine's process is not visible from here");
  // A setting given both ways keeps dockerd from starting the next time.
  const flag = changes.addRuntime || changes.removeRuntime ? '--add-runtime' : '--live-restore';
  if (daemon.arguments.some((argument) => argument.split('=')[0] === flag)) {
    throw new Error(`the engine was started with ${flag}; add the setting there`);
  }
  return daemon;
}

export async function readConfig(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  });
}

function mergeConfig(text: string, changes: DaemonChanges, path: string): string | undefined {
  try {
    return mergeDaemonJson(text, changes);
  } catch (error) {
    throw new Error(`${path} cannot be changed: ${(error as Error).message}`, { cause: error });
  }
}

/** The value of `--name value` or `--name=value`. */
export function option(argv: readonly string[], name: string): string | undefined {
  const joined = argv.find((argument) => argument.startsWith(`${name}=`));
  if (joined !== undefined) return joined.slice(name.length + 1);
  const index = argv.indexOf(name);
  return index < 0 ? undefined : argv[index + 1];
}
