import { isExecutable } from '../programs.ts';
import { run } from '../run.ts';
import type { Engine } from '../docker/engine.ts';

/** The runtime names we look for: the usual one, and ours where the usual one is taken by something broken. */
export const runtimeNames = ['runsc', 'runsc-emergent'] as const;

export interface RegisteredRuntime {
  readonly name: string;
  readonly path: string | undefined;
  readonly arguments: readonly string[];
}

/** The gVisor runtimes that the engine knows, ours first. */
export function registeredRuntimes(engine: Engine): RegisteredRuntime[] {
  return runtimeNames.toReversed().flatMap((name) => {
    const runtime = engine.info.Runtimes?.[name];
    if (!runtime) return [];
    return [{ name, path: runtime.path, arguments: runtime.runtimeArgs ?? [] }];
  });
}

/** What `runsc --version` says; undefined where the binary cannot be run from here. */
export async function runscVersion(
  path: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (!(await isExecutable(path))) return undefined;
  const result = await run([path, '--version'], { timeoutMs: 5_000, signal });
  return result.ok ? parseRunscVersion(result.stdout) : undefined;
}

export function parseRunscVersion(text: string): string | undefined {
  return /^runsc version (\S+)/m.exec(text)?.[1];
}
