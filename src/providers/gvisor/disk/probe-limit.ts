import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type Docker from 'dockerode';
import { reasonOf } from '../../../base/reason.ts';
import { tarOf } from '../../../base/tar.ts';
import { kinds, labels, workspaceMount } from '../container-spec.ts';
import { engineCall, engineStatus } from '../docker.ts';
import type { VolumeOptions } from './disk-mode.ts';
import { ownerLabel } from '../../../base/process-owner.ts';
import { linkVolume, unlinkVolume } from './volume-link.ts';

const callMs = 20_000;
export const probeBytes = 16 * 2 ** 20;
const tooManyBytes = 2 * probeBytes;

export interface ProbeEngine {
  readonly docker: Docker;
  readonly installationId: string;
  /** Any image that is there. */
  readonly image: string;
}

/** What a probe is marked with, so that a sweep knows it and whether anybody is still probing. */
export interface ProbeMark {
  readonly name: string;
  readonly owner: string;
}

/**
 * Fills a volume that is limited to `probeBytes` by its options through the engine, and says why it is not limited.
 * Undefined: it is, by ENOSPC. The volume has no name, so it goes with the container that holds it.
 */
export function whyUnlimited(
  engine: ProbeEngine,
  mark: ProbeMark,
  options: VolumeOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const driver = { DriverConfig: { Name: 'local', Options: { ...options } } };
  return fill(engine, mark, '', driver, signal);
}

/** The same of a volume that is linked to the files of a disk of `probeBytes`. */
export async function whyDiskUnlimited(
  engine: ProbeEngine,
  mark: ProbeMark,
  files: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { docker } = engine;
  let volume: Docker.Volume;
  try {
    volume = await engineCall('creating a volume for a disk', callMs, (abortSignal) =>
      docker.createVolume({
        Name: `emergent-probe-${mark.name}`,
        Labels: probeLabels(engine, mark),
        abortSignal,
      }),
    );
  } catch (error) {
    return refusal(error);
  }
  let mountpoint: string | undefined;
  try {
    const { Name, Mountpoint } = await engineCall('looking for a volume', callMs, () =>
      volume.inspect(),
    );
    mountpoint = Mountpoint;
    await linkVolume(Mountpoint, files);
    return await fill(engine, mark, Name, {}, signal);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    return `the engine's volumes cannot be reached: ${reasonOf(error)}`;
  } finally {
    if (mountpoint !== undefined) await unlinkVolume(mountpoint);
    await engineCall('removing a probe', callMs, (abortSignal): Promise<unknown> =>
      volume.remove({ abortSignal }),
    ).catch(unlessGone);
  }
}

/** Through a container that is never started. */
async function fill(
  engine: ProbeEngine,
  mark: ProbeMark,
  volume: string,
  driver: { readonly DriverConfig?: { Name: string; Options: Record<string, string> } },
  signal: AbortSignal,
): Promise<string | undefined> {
  // Nothing of the image is copied into it, so it is empty.
  const settings = { NoCopy: true, Labels: {}, ...driver } as Docker.MountSettings['VolumeOptions'];
  const mount = {
    ...({ Type: 'volume', Source: volume, Target: workspaceMount } as const),
    ...(settings && { VolumeOptions: settings }),
  };
  let holder: Docker.Container;
  try {
    holder = await engineCall('creating a volume with a limit', callMs, (abortSignal) =>
      engine.docker.createContainer({
        Image: engine.image,
        Entrypoint: ['/'],
        Labels: probeLabels(engine, mark),
        HostConfig: { NetworkMode: 'none', Mounts: [mount] },
        abortSignal,
      }),
    );
  } catch (error) {
    return refusal(error);
  }
  try {
    // Made only now: most engines refuse a volume with a limit before.
    const content = Buffer.alloc(tooManyBytes);
    const archive = await promisify(gzip)(await tarOf([{ name: 'fill', mode: 0o600, content }]), {
      level: 1,
    });
    await engineCall(
      'filling a volume',
      callMs,
      (abortSignal) => holder.putArchive(archive, { path: workspaceMount, abortSignal }),
      signal,
    );
    return 'a volume took more than its limit';
  } catch (error) {
    const reason = refusal(error);
    // The engine has no code for it, only the kernel's words.
    return /no space left on device/i.test(reason) ? undefined : reason;
  } finally {
    await engineCall('removing a probe', callMs, (abortSignal): Promise<unknown> =>
      holder.remove({ force: true, v: true, abortSignal }),
    ).catch(unlessGone);
  }
}

function probeLabels(
  { installationId }: ProbeEngine,
  { owner }: ProbeMark,
): Record<string, string> {
  return {
    [labels.kind]: kinds.probe,
    [labels.installation]: installationId,
    [ownerLabel]: owner,
  };
}

/** A sweep may have been faster. */
function unlessGone(error: unknown): void {
  if (engineStatus(error) !== 404) throw error;
}

/** An engine that does not answer says nothing about its limits, and a missing image neither. */
function refusal(error: unknown): string {
  const status = engineStatus(error);
  if (status === undefined || status === 404) throw error;
  return reasonOf(error);
}
