import type Docker from 'dockerode';
import type { Clock } from '../../base/clock.ts';
import type { Leftover } from '../../domain/provider.ts';
import { agentVolumePrefix } from './agent-volume.ts';
import { kinds, labels } from './container-spec.ts';
import type { LoopDisks } from './disk/loop-disks.ts';
import { ownerIsGone, ownerLabel, thisOwner, trialLabel } from '../../base/process-owner.ts';
import { unlinkVolume } from './disk/volume-link.ts';
import { engineCall, engineStatus } from './docker.ts';

const callMs = 30_000;
/** Longer than any server keeps one of its own. Of what says whose it is, the end of its owner is enough. */
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
  readonly loops: LoopDisks;
  readonly clock: Clock;
  /** Helpers of this age are removed, though a server might still be using them; not those of another that lives. */
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
  const images = await sweepTrialImages(options, dryRun, signal);
  const volumes = await sweepAgentVolumes(options, dryRun, signal);
  const probes = await sweepProbeVolumes(options, dryRun, signal);
  const disks = await sweepProbeDisks(options, dryRun, signal);
  return [...helpers, ...images, ...volumes, ...probes, ...disks];
}

async function sweepHelpers(
  { docker, installationId, clock, minAgeMs = helperAgeMs }: SweepOptions,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<readonly Leftover[]> {
  const withLabel = (label: string): Promise<Docker.ContainerInfo[]> =>
    engineCall(
      'listing helper containers',
      callMs,
      (abortSignal) =>
        docker.listContainers({ all: true, filters: { label: [label] }, abortSignal }),
      signal,
    );
  const listed = [...(await withLabel(labels.kind)), ...(await withLabel(trialLabel))];
  const swept: Leftover[] = [];
  for (const { Id, Names, Labels, Created } of listed) {
    const kind = Labels[labels.kind] ?? (Labels[trialLabel] === undefined ? '' : kinds.probe);
    const ours = (Labels[labels.installation] ?? installationId) === installationId;
    const age = clock.now().getTime() - Created * 1000;
    if (!helperKinds.includes(kind)) continue;
    const limits = ours ? { soonMs: minAgeMs, lateMs: helperAgeMs } : { lateMs: othersHelperAgeMs };
    if (!(await isLeft(age, limits, Labels[ownerLabel]))) continue;
    const container = docker.getContainer(Id);
    const gone =
      dryRun ||
      (await removed('removing a helper container', signal, (abortSignal) =>
        container.remove({ force: true, v: true, abortSignal }),
      ));
    if (!gone) continue;
    const name = (Names[0] ?? Id).replace(/^\//, '');
    swept.push({ name: `container ${name}`, why: `a helper (${kind}) that a killed server left` });
  }
  return swept;
}

/** Of a few bytes each; after the containers made from them. */
async function sweepTrialImages(
  { docker, clock, minAgeMs = helperAgeMs }: SweepOptions,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<readonly Leftover[]> {
  const listed = await engineCall(
    'listing the images of trials',
    callMs,
    (abortSignal) => docker.listImages({ filters: { label: [trialLabel] }, abortSignal }),
    signal,
  );
  const swept: Leftover[] = [];
  for (const { Id, Created, Labels } of listed) {
    const age = clock.now().getTime() - Created * 1000;
    const limits = { soonMs: minAgeMs, lateMs: helperAgeMs };
    if (!(await isLeft(age, limits, (Labels as ImageLabels)?.[ownerLabel]))) continue;
    const gone =
      dryRun ||
      (await removed('removing the image of a trial', signal, (abortSignal) =>
        docker.getImage(Id).remove({ abortSignal }),
      ));
    if (gone) swept.push({ name: `image ${Id}`, why: 'of a trial that a killed server left' });
  }
  return swept;
}

/** The engine says null of an image that has none. */
type ImageLabels = Readonly<Record<string, string>> | null | undefined;

/** After the containers that hold them; before the disks that they are linked to. */
async function sweepProbeVolumes(
  { docker, clock, minAgeMs = helperAgeMs }: SweepOptions,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<readonly Leftover[]> {
  const listed: unknown = await engineCall(
    'listing the volumes of probes',
    callMs,
    (abortSignal) =>
      docker.listVolumes({ filters: { label: [`${labels.kind}=${kinds.probe}`] }, abortSignal }),
    signal,
  );
  const swept: Leftover[] = [];
  for (const volume of (listed as { Volumes: ProbeVolume[] | null }).Volumes ?? []) {
    // The engine says year 1 of one whose disk is not mounted.
    const madeAt = Math.max(0, new Date(volume.CreatedAt).getTime()) || clock.now().getTime();
    const age = clock.now().getTime() - madeAt;
    const limits = { soonMs: minAgeMs, lateMs: helperAgeMs };
    if (!(await isLeft(age, limits, volume.Labels?.[ownerLabel]))) continue;
    if (!dryRun) await unlinkVolume(volume.Mountpoint);
    const gone =
      dryRun ||
      (await removed('removing the volume of a probe', signal, (abortSignal) =>
        docker.getVolume(volume.Name).remove({ abortSignal }),
      ));
    if (!gone) continue;
    swept.push({ name: `volume ${volume.Name}`, why: 'of a probe that a killed server left' });
  }
  return swept;
}

interface ProbeVolume extends AgentVolume {
  readonly Labels: Readonly<Record<string, string>> | null;
  readonly Mountpoint: string;
}

async function sweepProbeDisks(
  { loops, clock, minAgeMs = helperAgeMs }: SweepOptions,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<readonly Leftover[]> {
  const swept: Leftover[] = [];
  for (const { name, createdAt } of await loops.listProbes()) {
    const age = clock.now().getTime() - createdAt.getTime();
    if (age < Math.min(helperAgeMs, minAgeMs) && !(await ownerIsGone(name))) continue;
    const place = loops.probePlace(name);
    if (!dryRun) await loops.remove(place, signal);
    swept.push({ name: `disk ${place.image}`, why: 'of a probe that a killed server left' });
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

/** Whoever is in a hurry is so with what is their own: what another process made goes with its end, or late. */
async function isLeft(
  ageMs: number,
  { soonMs, lateMs }: { readonly soonMs?: number; readonly lateMs: number },
  owner = '',
): Promise<boolean> {
  const hurries = soonMs !== undefined && (owner === '' || owner === (await thisOwner()));
  const limitMs = hurries ? Math.min(soonMs, lateMs) : lateMs;
  return ageMs >= limitMs || (await ownerIsGone(owner));
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
