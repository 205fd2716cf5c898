import type Docker from 'dockerode';
import type { FoundSandbox } from '../../domain/provider.ts';
import { labels, providerOf } from './container-spec.ts';
import { containerState } from './container-state.ts';
import type { ContainerState } from './container-state.ts';
import type { FoundDisk } from './disk/loop-disks.ts';
import type { FilesFound, WorkspaceDisks } from './disk/workspace-disks.ts';
import { engineCall, engineStatus } from './docker.ts';

const listMs = 30_000;
const inspectMs = 10_000;
const inspectedAtOnce = 8;

interface Container extends ContainerState {
  readonly workspaceId: string;
  readonly provider: string;
  readonly name: string;
  readonly createdAt: Date;
}

/**
 * The containers, volumes and disks of one provider of this installation, joined by workspace. A disk does not say
 * whose it is: one without container and volume belongs to whoever asks.
 */
export async function listSandboxes(
  docker: Docker,
  disks: WorkspaceDisks,
  owner: { readonly installationId: string; readonly provider: string },
  signal: AbortSignal,
): Promise<readonly FoundSandbox[]> {
  const label = `${labels.installation}=${owner.installationId}`;
  const [containers, volumes, files] = await Promise.all([
    listContainers(docker, label, signal),
    disks.listFiles(signal),
    disks.listDisks(),
  ]);
  const workspaceIds = new Set(
    [...containers, ...volumes, ...files].map(({ workspaceId }) => workspaceId),
  );
  for (const { workspaceId, provider } of [...containers, ...volumes]) {
    if (provider !== owner.provider) workspaceIds.delete(workspaceId);
  }
  return [...workspaceIds].map((workspaceId) =>
    joined(
      workspaceId,
      containers.filter((container) => container.workspaceId === workspaceId),
      volumes.filter((volume) => volume.workspaceId === workspaceId),
      files.find((disk) => disk.workspaceId === workspaceId),
    ),
  );
}

function joined(
  workspaceId: string,
  containers: readonly Container[],
  volumes: readonly FilesFound[],
  disk: FoundDisk | undefined,
): FoundSandbox {
  const running = containers.find((container) => container.running);
  const container = running ?? containers[0];
  const workspace = volumes.find(({ path }) => path === null);
  const parts = [
    ...containers.map(({ name, createdAt }) => ({ what: `container ${name}`, createdAt })),
    ...volumes.map(({ name, createdAt }) => ({ what: `volume ${name}`, createdAt })),
    ...(disk ? disk.parts.map((what) => ({ what, createdAt: disk.createdAt })) : []),
  ];
  const ages = parts.flatMap(({ createdAt }) => createdAt?.getTime() ?? []);
  const reason = running ? undefined : (container?.end ?? 'its container is gone');
  return {
    workspaceId,
    sandboxName: container?.name ?? volumes[0]?.sandboxName ?? workspaceId,
    state: running ? 'running' : 'stopped',
    hasFiles: workspace?.whole ?? disk?.whole ?? false,
    createdAt: new Date(ages.length === 0 ? 0 : Math.min(...ages)),
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
    provider: providerOf(info.Labels),
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
