import type { HostRun } from '../host-run.ts';

/** The way to the network of the host on which the engine runs, as whoever may change its firewall. */
export interface HostNetwork {
  readonly run: HostRun;
  /** One at a time on this host, also among servers; freed when its holder dies. */
  readonly lock: (signal: AbortSignal) => Promise<AsyncDisposable>;
}
