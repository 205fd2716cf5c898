import { EmergentError } from '../../../domain/errors.ts';
import type { HostRun } from '../host-run.ts';

/** Debian keeps mkfs and losetup in sbin, which is not on every PATH. */
const path = [
  process.env['PATH'] ?? '',
  '/usr/local/sbin',
  '/usr/sbin',
  '/sbin',
  '/usr/bin',
  '/bin',
];

/** A program that could not be run, or that failed. */
export class HostToolError extends EmergentError {
  readonly missing: boolean;

  constructor(message: string, missing: boolean) {
    super('provider_failed', message);
    this.missing = missing;
  }
}

/** Runs a program of the host to its end; fails with what it said. */
export type HostTool = (argv: readonly [string, ...string[]], ms: number) => Promise<void>;

/** No caller can cut a program short: a mount that is killed half-way may still happen, after the clean-up. */
export function hostToolBy(run: HostRun): HostTool {
  return async (argv, timeoutMs) => {
    const env = { PATH: path.join(':'), LC_ALL: 'C' };
    const { ok, notFound, failure } = await run(argv, { timeoutMs, env });
    if (ok) return;
    const why = notFound ? `${argv[0]} is not installed` : (failure ?? `${argv[0]} failed`);
    throw new HostToolError(why, notFound);
  };
}
