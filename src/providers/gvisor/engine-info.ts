import type Docker from 'dockerode';
import { reasonOf } from '../../base/reason.ts';
import { engineCall } from './docker.ts';

const infoMs = 4_000;

/** What the engine says of itself, as far as it matters here. */
export interface EngineInfo {
  readonly id: string;
  readonly version: string;
  readonly architecture: string;
  readonly cpus: number;
  readonly storageDriver: string;
  readonly runtimes: readonly string[];
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

function parseInfo(info: Readonly<Record<string, unknown>>): EngineInfo {
  const runtimes = info['Runtimes'];
  return {
    id: String(info['ID']),
    version: String(info['ServerVersion']),
    architecture: String(info['Architecture']),
    cpus: Number(info['NCPU']),
    storageDriver: String(info['Driver']),
    runtimes: typeof runtimes === 'object' && runtimes !== null ? Object.keys(runtimes) : [],
  };
}
