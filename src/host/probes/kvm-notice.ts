import type { Log } from '../../base/log.ts';
import { check } from './check.ts';
import type { Finding } from './check.ts';
import { lookAtKvm } from './kvm.ts';

const lookMs = 14_000;

/** Says in the log, where it is so, that this host runs no microVMs and why; gVisor works without KVM. */
export async function noteMissingKvm(
  log: Log,
  signal: AbortSignal,
  look: (signal: AbortSignal) => Promise<Finding> = lookAtKvm,
): Promise<void> {
  try {
    const { state, reason, remedy } = await check('kvm', lookMs, look, signal);
    if (state === 'ok' || signal.aborted) return;
    log.info('KVM-based Firecracker is unavailable on this host; gVisor works without KVM', {
      reason,
      ...(remedy !== undefined && { remedy }),
    });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
