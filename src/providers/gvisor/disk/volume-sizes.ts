import type Docker from 'dockerode';
import { engineCall } from '../docker.ts';

/** The engine goes through every file. */
const measureMs = 5 * 60_000;

/** What the files of each volume take, by the volume's name, as the engine measures it. */
export async function volumeSizes(
  docker: Docker,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const answer: unknown = await engineCall(
    'measuring the volumes',
    measureMs,
    (abortSignal) => dial(docker, abortSignal),
    signal,
  );
  const volumes = (answer as { Volumes: VolumeSize[] | null }).Volumes ?? [];
  return new Map(
    volumes.flatMap(({ Name, UsageData }) => {
      const size = UsageData?.Size ?? -1;
      return size < 0 ? [] : [[Name, size] as const];
    }),
  );
}

/** The client's own call measures all images and containers too. Engines before 23 do so all the same. */
function dial(docker: Docker, abortSignal: AbortSignal): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const modem = docker.modem as Modem;
  const request = {
    path: '/system/df?type=volume',
    method: 'GET',
    statusCodes: { 200: true, 500: 'server error' },
    abortSignal,
  };
  modem.dial(request, (error, data) => {
    if (error === null || error === undefined) resolve(data);
    else reject(error instanceof Error ? error : new Error('the engine did not answer'));
  });
  return promise;
}

interface Modem {
  dial(options: object, done: (error: unknown, data: unknown) => void): void;
}

interface VolumeSize {
  readonly Name: string;
  readonly UsageData?: { readonly Size: number } | null;
}
