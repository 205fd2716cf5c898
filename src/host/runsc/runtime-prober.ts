import { askEngine } from '../docker/engine.ts';
import { endpoints } from '../docker/endpoint.ts';
import { tryRuntime } from './try-runtime.ts';
import type { RuntimeTrial } from './try-runtime.ts';

/** An engine that is busy says nothing about its runtimes; whoever tries them gives up on the whole. */
const answerMs = 30_000;

/** Tries runtimes of the engine that DOCKER_HOST names; of the one at the usual place when it is unset. */
export function runtimeProber(
  dockerHost: string | undefined,
  startMs?: number,
): (runtime: string, signal: AbortSignal) => Promise<RuntimeTrial> {
  const [endpoint] = endpoints({ DOCKER_HOST: dockerHost });
  return async (runtime, signal) =>
    tryRuntime(await askEngine(endpoint, signal, answerMs), runtime, signal, startMs);
}
