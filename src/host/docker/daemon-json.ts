import { z } from 'zod';

const runtimesSchema = z.record(
  z.string(),
  z.looseObject({ path: z.string().optional(), runtimeArgs: z.array(z.string()).optional() }),
);
const daemonSchema = z.looseObject({
  runtimes: runtimesSchema.optional(),
  'live-restore': z.boolean().optional(),
});

/** What we ask of an engine's configuration; everything else in the file stays as it is. */
export interface DaemonChanges {
  readonly liveRestore?: true;
  readonly addRuntime?: {
    readonly name: string;
    readonly path: string;
    readonly runtimeArgs: readonly string[];
  };
  readonly removeRuntime?: string;
}

/**
 * The engine's configuration file with the changes merged in; undefined when it already says so. A file that
 * does not parse is refused: the engine may run on it in a way we do not understand.
 */
export function mergeDaemonJson(text: string, changes: DaemonChanges): string | undefined {
  const config = daemonSchema.parse(text.trim() === '' ? {} : parseObject(text));
  const runtimes = { ...config.runtimes };
  if (changes.removeRuntime !== undefined) {
    Reflect.deleteProperty(runtimes, changes.removeRuntime);
  }
  if (changes.addRuntime) {
    const { name, path, runtimeArgs } = changes.addRuntime;
    runtimes[name] = { path, ...(runtimeArgs.length > 0 ? { runtimeArgs: [...runtimeArgs] } : {}) };
  }
  const merged = {
    ...config,
    // An explicit `false` is somebody's decision.
    ...(changes.liveRestore && config['live-restore'] === undefined
      ? { 'live-restore': true }
      : {}),
    ...(Object.keys(runtimes).length > 0 || config.runtimes ? { runtimes } : {}),
  };
  return JSON.stringify(merged) === JSON.stringify(config)
    ? undefined
    : `${JSON.stringify(merged, null, 2)}\n`;
}

function parseObject(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error('the file is not valid JSON; it was left as it is', { cause: error });
  }
}
