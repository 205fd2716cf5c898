import type Docker from 'dockerode';
import { EmergentError } from '../../domain/errors.ts';
import type { FoundSandbox } from '../../domain/provider.ts';
import { labels } from './container-spec.ts';
import { containerState } from './container-state.ts';
import type { ContainerState } from './container-state.ts';
import { engineCall, engineStatus } from './docker.ts';

const listMs = 30_000;
const inspectMs = 10_000;
const inspectedAtOnce = 8;

interface Container extends ContainerState {
  readonly workspaceId: string;
  readonly name: string;
  readonly createdAt: Date;
}

interface Volume {
  readonly workspaceId: string;
  readonly name: string;
  readonly sandboxName: string;
  readonly createdAt: Date;
}

/** The containers and volumes that carry this installation's label, joined by workspace. */
export async function listSandboxes(
  docker: Docker,
  installationId: string,
  signal: AbortSignal,
): Promise<readonly FoundSandbox[]> {
  const label = `${labels.installation}=${installationId}`;
  const [containers, volumes] = await Promise.all([
    listContainers(docker, label, signal),
    listVolumes(docker, label, signal),
  ]);
  const workspaceIds = new Set([...containers, ...volumes].map(({ workspaceId }) => workspaceId));
  return [...workspaceIds].map((workspaceId) =>
    joined(
      workspaceId,
      containers.filter((container) => container.workspaceId === workspaceId),
      volumes.find((volume) => volume.workspaceId === workspaceId),
    ),
  );
}

function joined(
  workspaceId: string,
  containers: readonly Container[],
  volume: Volume | undefined,
): FoundSandbox {
  const running = containers.find((container) => container.running);
  const container = running ?? containers[0];
  const parts = [
    ...containers.map(({ name, createdAt }) => ({ what: `container ${name}`, createdAt })),
    ...(volume ? [{ what: `volume ${volume.name}`, createdAt: volume.createdAt }] : []),
  ];
  const reason = running ? undefined : (container?.end ?? 'its container is gone');
  return {
    workspaceId,
    sandboxName: container?.name ?? volume?.sandboxName ?? workspaceId,
    state: running ? 'running' : 'stopped',
    hasFiles: volume !== undefined,
    createdAt: new Date(Math.min(...parts.map(({ createdAt }) => createdAt.getTime()))),
    parts: parts.map(({ what }) => what),
    ...(reason !== undefined && { reason }),
  };
}

async function listContainers(
  docker: Docker,
  label: string,
  signal: AbortSignal,
): Promise<readonly Container[]> {
  const listed = await engineCall(
    'listing containers',
    listMs,
    (abortSignal) => docker.listContainers({ all: true, filters: { label: [label] }, abortSignal }),
    signal,
  );
  const ours = listed.filter(({ Labels }) => Labels[labels.workspace] !== undefined);
  const found: Container[] = [];
  for (let at = 0; at < ours.length; at += inspectedAtOnce) {
    const some = ours.slice(at, at + inspectedAtOnce);
    const read = await Promise.all(some.map((info) => readContainer(docker, info, signal)));
    found.push(...read.flat());
  }
  return found;
}

/** Only the list knows it by now if it was removed meanwhile: then it is not there. */
async function readContainer(
  docker: Docker,
  info: Docker.ContainerInfo,
  signal: AbortSignal,
): Promise<readonly Container[]> {
  const about = {
    workspaceId: info.Labels[labels.workspace] ?? '',
    name: (info.Names[0] ?? info.Id).replace(/^\//, ''),
    createdAt: new Date(info.Created * 1000),
  };
  if (info.State === 'running') return [{ ...about, running: true, paused: false, end: undefined }];
  try {
    const { State } = await engineCall(
      'looking at a container',
      inspectMs,
      (abortSignal) => docker.getContainer(info.Id).inspect({ abortSignal }),
      signal,
    );
    return [{ ...about, ...containerState(State) }];
  } catch (error) {
    if (engineStatus(error) === 404) return [];
    throw error;
  }
}

async function listVolumes(
  docker: Docker,
  label: string,
  signal: AbortSignal,
): Promise<readonly Volume[]> {
  const listed: unknown = await engineCall(
    'listing volumes',
    listMs,
    (abortSignal) => docker.listVolumes({ filters: { label: [label] }, abortSignal }),
    signal,
  );
  // The engine sends null where there are none, and answers with a warning in place of what it cannot list.
  const answer = listed as { Volumes: VolumeInfo[] | null; Warnings: string[] | null };
  const [warning] = answer.Warnings ?? [];
  if (warning !== undefined) {
    throw new EmergentError('provider_failed', `listing volumes: ${warning}`);
  }
  return (answer.Volumes ?? []).flatMap((volume) => {
    const workspaceId = volume.Labels?.[labels.workspace];
    if (workspaceId === undefined) return [];
    return {
      workspaceId,
      name: volume.Name,
      sandboxName: volume.Labels?.[labels.sandbox] ?? volume.Name,
      createdAt: new Date(volume.CreatedAt),
    };
  });
}

interface VolumeInfo {
  readonly Name: string;
  readonly Labels: Readonly<Record<string, string>> | null;
  readonly CreatedAt: string;
}
