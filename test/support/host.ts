import { prepareHost } from '../../src/host/setup/prepare.ts';
import type { PreparedHost } from '../../src/host/setup/prepare.ts';

let prepared: Promise<PreparedHost> | undefined;

/**
 * This host as the tests use it. `npm test` has prepared it before; then this only looks, in a tenth of a second, and
 * once for all tests of a file.
 */
export function testHost(): Promise<PreparedHost> {
  prepared ??= prepare();
  return prepared;
}

async function prepare(): Promise<PreparedHost> {
  const host = await prepareHost({ forTests: true });
  const [failure] = host.failures;
  if (failure) throw new Error(`${failure.name}: ${failure.reason}; ${failure.remedy}`);
  return host;
}
