import type Docker from 'dockerode';
import { reasonOf } from '../../base/reason.ts';
import { engineCall } from './docker.ts';

const infoMs = 4_000;

/** An OCI runtime as the engine's configuration names it. */
export interface RegisteredRuntime {
  /** Undefined where the engine does not say, as for its own. */
  readonly path: string | undefined;
  readonly args: readonly string[];
}

/** What the engine says of itself, as far as it matters here. */
export interface EngineInfo {
  readonly id: string;
  readonly version: string;
  readonly architecture: string;
  readonly cpus: number;
  /** All that its host has. */
  readonly memoryBytes: number;
  readonly storageDriver: string;
  readonly operatingSystem: string;
  /** Of its containers. */
  readonly osType: 'linux' | 'windows';
  readonly kernelVersion: string;
  readonly cgroupVersion: string | undefined;
  readonly securityOptions: readonly string[];
  readonly defaultRuntime: string | undefined;
  readonly runtimes: ReadonlyMap<string, RegisteredRuntime>;
}

export type EngineState =
  | { readonly state: 'up'; readonly info: EngineInfo }
  | { readonly state: 'down'; readonly reason: string };

export async function engineState(docker: Docker, signal: AbortSignal): Promise<EngineState> {
  try {
    const info: unknown = await engineCall(
      'asking for its state',
      infoMs,
      () => docker.info(),
      signal,
    );
    return { state: 'up', info: parseInfo(info as Readonly<Record<string, unknown>>) };
  } catch (error) {
    return { state: 'down', reason: reasonOf(error) };
  }
}

/** Docker Desktop, whose engine runs in a virtual machine: on which system, or null where it is not Desktop. */
export function desktopOf(info: EngineInfo): 'macOS' | 'Windows' | 'Linux' | null {
  if (!info.operatingSystem.includes('Docker Desktop')) return null;
  if (/microsoft/i.test(info.kernelVersion)) return 'Windows';
  // Desktop has the same virtual machine on macOS and Linux; where this server runs tells them apart.
  return process.platform === 'linux' ? 'Linux' : 'macOS';
}

/** The value of a runtime's `--flag=value` or `--flag value`; gVisor takes one dash as well. */
export function runtimeFlag(runtime: RegisteredRuntime, name: string): string | undefined {
  for (const [index, argument] of runtime.args.entries()) {
    const [flag = '', value] = argument.split('=', 2);
    if (flag.replace(/^--?/, '') === name) return value ?? runtime.args[index + 1];
  }
  return undefined;
}

export function parseInfo(info: Readonly<Record<string, unknown>>): EngineInfo {
  const text = (name: string): string | undefined =>
    typeof info[name] === 'string' ? info[name] : undefined;
  const runtimes = Object.entries(objectOf(info['Runtimes']));
  return {
    id: String(info['ID']),
    version: String(info['ServerVersion']),
    architecture: String(info['Architecture']),
    cpus: Number(info['NCPU']),
    memoryBytes: Number(info['MemTotal']),
    storageDriver: String(info['Driver']),
    operatingSystem: text('OperatingSystem') ?? '',
    osType: text('OSType') === 'windows' ? 'windows' : 'linux',
    kernelVersion: text('KernelVersion') ?? '',
    cgroupVersion: text('CgroupVersion'),
    securityOptions: stringsOf(info['SecurityOptions']),
    defaultRuntime: text('DefaultRuntime'),
    runtimes: new Map(runtimes.map(([name, entry]) => [name, parseRuntime(entry)])),
  };
}

function parseRuntime(entry: unknown): RegisteredRuntime {
  const { path, runtimeArgs } = objectOf(entry);
  return { path: typeof path === 'string' ? path : undefined, args: stringsOf(runtimeArgs) };
}

/** The engine sends null where there is nothing. */
function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function stringsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
