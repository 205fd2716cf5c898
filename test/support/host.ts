import { prepareHost } from '../../src/host/setup/prepare.ts';
import type { PreparedHost } from '../../src/host/setup/prepare.ts';

/** This host as the tests use it. `npm test` has prepared it before; then this only looks, in a tenth of a second. */
export async function testHost(): Promise<PreparedHost> {
  const host = await prepareHost({ forTests: true });
  const [failure] = host.failures;
  if (failure) throw new Error(`${failure.name}: ${failure.reason}; ${failure.remedy}`);
  return host;
}
