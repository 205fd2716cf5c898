import type Docker from 'dockerode';
import { engineCall } from '../docker.ts';

const statsMs = 5_000;

/** CPU time of a container as its engine counts it, for an engine on another host; null where it does not know. */
export async function engineCpuSeconds(
  docker: Docker,
  container: string,
  signal: AbortSignal,
): Promise<number | null> {
  const stats = await engineCall(
    'asking what a container uses',
    statsMs,
    // Without it the engine takes a second to compare two readings.
    () => docker.getContainer(container).stats({ stream: false, 'one-shot': true }),
    signal,
  );
  const nanoseconds = stats.cpu_stats.cpu_usage.total_usage;
  return nanoseconds > 0 ? nanoseconds / 1e9 : null;
}
