import type { LifecycleContext } from './context.ts';

/**
 * Runs a write that makes this server the operator of a row. When its answer is lost the row may be changed or
 * not; either way nobody works on it, so it is given up: a row that a live server holds is never taken over.
 */
export async function begin<T>(
  { changes, releases }: LifecycleContext,
  id: string,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!changes.ids().has(id)) await releases.release(id);
    throw error;
  }
}
