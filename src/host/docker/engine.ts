import { release } from 'node:os';
import type Docker from 'dockerode';
import { z } from 'zod';

import { withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import { findProgram } from '../programs.ts';
import { connect, describeEndpoint, endpoints } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';

const runtimeSchema = z.object({
  path: z.string().optional(),
  runtimeArgs: z.array(z.string()).nullish(),
});

const infoSchema = z.object({
  ID: z.string(),
  ServerVersion: z.string(),
  Driver: z.string(),
  DockerRootDir: z.string(),
  OperatingSystem: z.string(),
  OSType: z.string().optional(),
  Architecture: z.string(),
  KernelVersion: z.string(),
  CgroupVersion: z.string().optional(),
  LiveRestoreEnabled: z.boolean().optional(),
  DefaultRuntime: z.string().optional(),
  Runtimes: z.record(z.string(), runtimeSchema).nullish(),
  Swarm: z.object({ LocalNodeState: z.string().optional() }).nullish(),
});
export type EngineInfo = z.infer<typeof infoSchema>;

export interface Engine {
  readonly endpoint: Endpoint;
  readonly docker: Docker;
  readonly info: EngineInfo;
  /** Runs on this very kernel, so its files and processes can be seen and its configuration changed. */
  readonly local: boolean;
}

/** Why no engine answers; each needs another remedy. */
export interface NoEngine {
  readonly why: 'absent' | 'stopped' | 'denied' | 'broken';
  readonly reason: string;
  readonly remedy: string;
}

export type EngineLook = { readonly engine: Engine } | ({ readonly engine: undefined } & NoEngine);

const answerMs = 5_000;

/** The first engine that answers; otherwise why the first endpoint does not. */
export async function findEngine(
  candidates: readonly [Endpoint, ...Endpoint[]] = endpoints(),
  signal?: AbortSignal,
): Promise<EngineLook> {
  let first: unknown;
  for (const [index, endpoint] of candidates.entries()) {
    try {
      return { engine: await askEngine(endpoint, signal) };
    } catch (error) {
      signal?.throwIfAborted();
      if (index === 0) first = error;
    }
  }
  const [endpoint] = candidates;
  const installed = (await findProgram('dockerd')) !== undefined;
  return { engine: undefined, ...explain(first, endpoint, installed) };
}

export async function askEngine(
  endpoint: Endpoint,
  signal?: AbortSignal,
  ms = answerMs,
): Promise<Engine> {
  const docker = connect(endpoint);
  const what = `the Docker engine at ${describeEndpoint(endpoint)}`;
  const ask = async (): Promise<unknown> => docker.info();
  const answer = await withDeadline(what, ms, ask, signal);
  const info = infoSchema.parse(answer);
  const local = endpoint.kind === 'unix' && runsHere(info);
  return { endpoint, docker, info, local };
}

/** A unix socket may lead into a virtual machine (Docker Desktop and its like). */
export function runsHere(info: EngineInfo): boolean {
  return info.KernelVersion === release() && !isDesktop(info);
}

/** Docker Desktop, whose engine runs in a virtual machine of its own on every system. */
export function isDesktop(info: EngineInfo): boolean {
  return info.OperatingSystem.includes('Docker Desktop');
}

export function explain(error: unknown, endpoint: Endpoint, installed: boolean): NoEngine {
  const where = describeEndpoint(endpoint);
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (endpoint.kind === 'unix' && code === 'EACCES') {
    return {
      why: 'denied',
      reason: `no permission to use ${where}`,
      remedy: 'sudo usermod -aG docker "$USER", then log in again (or run this as root)',
    };
  }
  if (endpoint.kind === 'unix' && (code === 'ENOENT' || code === 'ECONNREFUSED')) {
    return installed
      ? {
          why: 'stopped',
          reason: `Docker is installed, but nothing answers at ${where}`,
          remedy: 'sudo systemctl start docker (`npm start` starts it too)',
        }
      : {
          why: 'absent',
          reason: 'Docker is not installed',
          remedy: '`npm start` installs it on Debian and Ubuntu; elsewhere install Docker Engine',
        };
  }
  return {
    why: 'broken',
    reason: `the engine at ${where} does not answer: ${reasonOf(error)}`,
    remedy: "check DOCKER_HOST and the engine's log (journalctl -u docker)",
  };
}
