import type { LifecycleContext } from './context.ts';

/**
 * Writes how a change ended that did not succeed. A row whose end cannot be written is given up: the reconciler
 * finds out what became of it.
 */
export async function recordEnd(
  { releases, log }: LifecycleContext,
  id: string,
  write: () => Promise<unknown>,
): Promise<void> {
  try {
    await write();
  } catch (error) {
    log.warn('the end of a failed change could not be recorded', { workspace: id, err: error });
    await releases.release(id);
  }
}
