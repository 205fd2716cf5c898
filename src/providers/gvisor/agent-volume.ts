import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type Docker from 'dockerode';
import { tarOf } from '../../base/tar.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import { agentMount, kinds, labels } from './container-spec.ts';
import { engineCall, engineStatus } from './docker.ts';

/** Where the agent's binary lies for each architecture, by Go's names. */
export type AgentPaths = Readonly<Record<'amd64' | 'arm64', string>>;

const architectures: Readonly<Record<string, keyof AgentPaths>> = {
  x86_64: 'amd64',
  amd64: 'amd64',
  aarch64: 'arm64',
  arm64: 'arm64',
};
export const agentVolumePrefix = 'emergent-agent-';
const callMs = 10_000;
/** Comes after the agent in the archive, so its presence means that the volume is complete. */
const marker = 'complete';

export interface AgentVolumeOptions {
  readonly docker: Docker;
  readonly installationId: string;
  readonly agentPaths: AgentPaths | null;
  /** Any image that is there. */
  readonly image: string;
}

/**
 * Makes sure that the engine holds a volume with the agent in it, and returns its name. The volume is shared
 * by all workspaces and mounted read-only; its name holds the binary's hash, so a new version gets a new one
 * and running workspaces keep theirs. A volume whose filling was interrupted is filled again.
 */
export async function ensureAgentVolume(
  { docker, installationId, agentPaths, image }: AgentVolumeOptions,
  architecture: string,
  signal: AbortSignal,
): Promise<string> {
  const binary = await readAgent(architecture, agentPaths);
  const hash = createHash('sha256').update(binary).digest('hex').slice(0, 16);
  const volume = `${agentVolumePrefix}${hash}`;
  const call = <T>(doing: string, work: (inner: AbortSignal) => Promise<T>): Promise<T> =>
    engineCall(doing, callMs, work, signal);

  await call('creating the agent volume', (abortSignal) =>
    docker.createVolume({
      Name: volume,
      Labels: { [labels.kind]: kinds.agentVolume },
      abortSignal,
    }),
  );
  // A container that is never started is the engine's way to reach into a volume.
  const holder = await call('reaching the agent volume', (abortSignal) =>
    docker.createContainer({
      Image: image,
      Entrypoint: ['/'],
      Labels: { [labels.kind]: kinds.agentVolumeHolder, [labels.installation]: installationId },
      HostConfig: {
        NetworkMode: 'none',
        Mounts: [{ Type: 'volume', Source: volume, Target: agentMount }],
      },
      abortSignal,
    }),
  );
  try {
    if (await hasFile(holder, `${agentMount}/${marker}`, signal)) return volume;
    const archive = await tarOf([
      { name: 'agent', mode: 0o755, content: binary },
      { name: marker, mode: 0o444, content: Buffer.alloc(0) },
    ]);
    await call('filling the agent volume', (abortSignal) =>
      holder.putArchive(archive, { path: agentMount, abortSignal }),
    );
    return volume;
  } finally {
    await engineCall('removing a helper container', callMs, (abortSignal) =>
      holder.remove({ force: true, v: true, abortSignal }),
    );
  }
}

const missingHint = 'Start the server without EMERGENT_SKIP_SETUP once: set-up builds it.';

async function readAgent(architecture: string, paths: AgentPaths | null): Promise<Buffer> {
  if (!paths) {
    throw new EmergentError('provider_unavailable', 'the guest agent is not built', {
      hint: missingHint,
    });
  }
  const arch = architectures[architecture];
  if (!arch) {
    throw new EmergentError('provider_unavailable', `no guest agent for ${architecture} engines`);
  }
  try {
    return await readFile(paths[arch]);
  } catch (error) {
    throw new EmergentError(
      'provider_unavailable',
      `the guest agent is missing: ${reasonOf(error)}`,
      {
        hint: missingHint,
        cause: error,
      },
    );
  }
}

async function hasFile(
  container: Docker.Container,
  path: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const answer: unknown = await engineCall(
      'looking into the agent volume',
      callMs,
      (abortSignal) => container.infoArchive({ path, abortSignal }),
      signal,
    );
    // The client leaves the answer's empty body unread, which would hold its connection open.
    (answer as IncomingMessage).resume();
    return true;
  } catch (error) {
    if (engineStatus(error) === 404) return false;
    throw error;
  }
}
