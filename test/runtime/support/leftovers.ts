import { readdir } from 'node:fs/promises';
import type Docker from 'dockerode';
import { commandLine } from '../../../src/host/processes.ts';

/** What there is on an engine, besides the agent's volume and the container through which it is being filled. */
export async function engineContents(docker: Docker): Promise<Record<string, readonly string[]>> {
  const containers = await docker.listContainers({ all: true });
  const images = await docker.listImages();
  const { Volumes: volumes } = await docker.listVolumes();
  return {
    containers: containers
      .filter(({ Labels: labels }) => labels['dev.emergent.kind'] !== 'agent-volume')
      .flatMap(({ Names: names }) => names),
    images: images.map(({ Id: id }) => id),
    volumes: volumes.map(({ Name: name }) => name).filter((name) => !isShared(name)),
  };
}

/** The agent's volume stays, for all workspaces to come. */
function isShared(volume: string): boolean {
  return volume.startsWith('emergent-agent-');
}

/** The processes whose command line names this. */
export async function processesNaming(text: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
  const found = await Promise.all(
    pids.map(async (pid) => ((await commandLine(pid)).join(' ').includes(text) ? [pid] : [])),
  );
  return found.flat();
}
