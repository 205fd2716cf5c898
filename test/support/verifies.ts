import { test } from 'vitest';
import type { TestContext } from 'vitest';
import type { RequirementId } from '../requirements.ts';

/**
 * A test that shows one or more scenarios of the specs. The ids must be written as literals in the call: the
 * requirements gate reads them from the source.
 */
export function verifies(
  ids: readonly [RequirementId, ...RequirementId[]],
  name: string,
  run: (context: TestContext) => Promise<void> | void,
  timeoutMs?: number,
): void {
  const options = timeoutMs === undefined ? {} : { timeout: timeoutMs };
  test(name, { ...options, meta: { verifies: [...ids] } }, run);
}
