import type Docker from 'dockerode';
import type { Clock } from '../../base/clock.ts';
import type { Leftover } from '../../domain/provider.ts';
import { agentVolumePrefix } from './agent-volume.ts';
import { kinds, labels } from './container-spec.ts';
import { engineCall, engineStatus } from './docker.ts';

const callMs = 30_000;
/** Longer than any server keeps one of its own. */
const helperAgeMs = 10 * 60_000;
/** Those of another installation, which may never start again; one that does has a slower clock, at worst. */
const othersHelperAgeMs = 60 * 60_000;
/** A server of another version may have made it and not used it yet. */
const agentVolumeAgeMs = 60 * 60_000;

export interface SweepOptions {
  readonly docker: Docker;
  readonly installationId: string;
  /** The one in use here. */
  readonly agentVolume: string;
  readonly clock: Clock;
  /** Helpers of this age are removed, though a server might still be using them. */
  readonly minAgeMs?: number;
}

/** What killed servers and older versions left on the engine, besides sandboxes. What is in use is left alone. */
export async function sweep(
  options: SweepOptions,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<readonly Leftover[]> {
  // Helpers first: one of them may be all that holds an old agent volume.
  const helpers = await sweepHelpers(options, dryRun, signal);
  return [...helpers, ...(await sweepAgentVolumes(options, dryRun, signal))];
}

async function sweepHelpers(
  { docker, installationId, clock, minAgeMs = helperAgeMs }: SweepOptions,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<readonly Leftover[]> {
  const listed = await engineCall(
    'listing helper containers',
    callMs,
    (abortSignal) =>
      docker.listContainers({ all: true, filters: { label: [labels.kind] }, abortSignal }),
    signal,
  );
  const oldEnoughMs = Math.min(helperAgeMs, minAgeMs);
  const swept: Leftover[] = [];
  for (const { Id, Names, Labels, Created } of listed) {
    const kind = Labels[labels.kind] ?? '';
    const ours = (Labels[labels.installation] ?? installationId) === installationId;
    const age = clock.now().getTime() - Created * 1000;
    if (!helperKinds.includes(kind) || age < (ours ? oldEnoughMs : othersHelperAgeMs)) continue;
    const container = docker.getContainer(Id);
    const gone =
      dryRun ||
      (await removed('removing a helper container', signal, (abortSignal) =>
        container.remove({ force: true, abortSignal }),
      ));
    if (!gone) continue;
    const name = (Names[0] ?? Id).replace(/^\//, '');
    swept.push({ name: `container ${name}`, why: `a helper (${kind}) that a killed server left` });
  }
  return swept;
}

const helperKinds: readonly string[] = [kinds.agentVolumeHolder, kinds.probe];

async function sweepAgentVolumes(
  { docker, agentVolume, clock }: SweepOptions,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<readonly Leftover[]> {
  // By name: one that the engine made up for a missing one has no labels.
  const filters = { name: [agentVolumePrefix] };
  const listed: unknown = await engineCall(
    'listing agent volumes',
    callMs,
    (abortSignal) => docker.listVolumes({ filters, abortSignal }),
    signal,
  );
  const volumes = (listed as { Volumes: AgentVolume[] | null }).Volumes ?? [];
  const swept: Leftover[] = [];
  for (const { Name, CreatedAt } of volumes) {
    const age = clock.now().getTime() - new Date(CreatedAt).getTime();
    if (!Name.startsWith(agentVolumePrefix) || Name === agentVolume) continue;
    if (age < agentVolumeAgeMs) continue;
    if (await isUsed(docker, Name, signal)) continue;
    const volume = docker.getVolume(Name);
    const gone =
      dryRun ||
      (await removed('removing an agent volume', signal, (abortSignal) =>
        volume.remove({ abortSignal }),
      ));
    if (gone) swept.push({ name: `volume ${Name}`, why: 'the agent of another version, unused' });
  }
  return swept;
}

interface AgentVolume {
  readonly Name: string;
  readonly CreatedAt: string;
}

async function isUsed(docker: Docker, volume: string, signal: AbortSignal): Promise<boolean> {
  const users = await engineCall(
    'listing the users of an agent volume',
    callMs,
    (abortSignal) =>
      docker.listContainers({ all: true, filters: { volume: [volume] }, abortSignal }),
    signal,
  );
  return users.length > 0;
}

/** False: it is used after all, or somebody else is removing it. */
async function removed(
  doing: string,
  signal: AbortSignal,
  remove: (abortSignal: AbortSignal) => Promise<unknown>,
): Promise<boolean> {
  try {
    await engineCall(doing, callMs, remove, signal);
    return true;
  } catch (error) {
    if (engineStatus(error) === 404 || engineStatus(error) === 409) return false;
    throw error;
  }
}
