import type Docker from 'dockerode';
import { withDeadline, withRenewedDeadline } from '../../../base/deadline.ts';
import { parseImageReference } from '../../../domain/image.ts';
import type { StartProgress } from '../../../domain/provider.ts';
import { engineCall } from '../docker.ts';
import { pullFailure } from './pull-failure.ts';
import { pullLines } from './pull-lines.ts';
import { PullProgress } from './pull-progress.ts';

export interface PullLimits {
  /** It is given up when it gets no further for this long. */
  readonly stalledMs: number;
  readonly totalMs: number;
}

/** Has the engine pull an image; aborting ends the pull. Tells when it begins and whenever it is further. */
export async function pullImage(
  docker: Docker,
  image: string,
  { stalledMs, totalMs }: PullLimits,
  signal: AbortSignal,
  onProgress: (progress: StartProgress) => void,
): Promise<StartProgress> {
  const what = `pulling the image "${image}"`;
  try {
    return await withDeadline(
      what,
      totalMs,
      (inner) =>
        withRenewedDeadline(
          what,
          stalledMs,
          (abortSignal, renew) =>
            follow(docker, image, totalMs, abortSignal, (progress) => {
              renew();
              onProgress(progress);
            }),
          inner,
        ),
      signal,
    );
  } catch (error) {
    if (signal.aborted) throw error;
    throw pullFailure(image, error);
  }
}

async function follow(
  docker: Docker,
  image: string,
  totalMs: number,
  signal: AbortSignal,
  onProgress: (progress: StartProgress) => void,
): Promise<StartProgress> {
  const progress = new PullProgress(image);
  onProgress(progress.now());
  // Without a tag the engine would pull them all.
  const { repository: fromImage, version: tag } = parseImageReference(image);
  const report = await engineCall(
    'pulling an image',
    totalMs,
    () => docker.createImage({ fromImage, tag, abortSignal: signal }),
    signal,
  );
  for await (const line of pullLines(report as AsyncIterable<Uint8Array>)) {
    if (line.error !== undefined) throw new Error(line.error);
    if (progress.add(line)) onProgress(progress.now());
  }
  return progress.end();
}
