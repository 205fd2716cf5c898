import { findProgram } from './programs.ts';
import type { LaunchOptions } from './launcher.ts';
import type { RunResult } from './run.ts';
import { lockSetup } from './setup/lock.ts';

type Run = (argv: readonly string[], options: LaunchOptions) => Promise<RunResult>;

/** This host's network, for those who change its rules. `lock` holds among all servers of this host. */
export function hostNetworkBy(run: Run) {
  return {
    run: asRoot(run),
    lock: (signal: AbortSignal): Promise<AsyncDisposable> =>
      lockSetup(() => undefined, signal, 'emergent-network'),
  };
}

/**
 * Runs commands that need root, for work that goes on while nobody is at the terminal: whoever is not root needs a
 * sudo that does not ask.
 */
export function asRoot(run: Run): Run {
  return async ([name = '', ...rest], options) => {
    const command = [(await findProgram(name)) ?? name, ...rest];
    return run(process.getuid?.() === 0 ? command : ['sudo', '-n', ...command], options);
  };
}
