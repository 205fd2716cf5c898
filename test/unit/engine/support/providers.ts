import type { Clock } from '../../../../src/base/clock.ts';
import type { WorkspaceProvider } from '../../../../src/domain/provider.ts';
import { Providers } from '../../../../src/engine/providers.ts';
import type { ProvidersOptions } from '../../../../src/engine/providers.ts';
import { recordLog } from '../../../support/log.ts';

/** Providers that nobody watches: each is asked when somebody needs to know. What they note goes nowhere. */
export function providersOf(
  providers: readonly WorkspaceProvider[],
  clock: Clock,
  options: Partial<ProvidersOptions> = {},
): Providers {
  return new Providers({
    ...{ providers, clock, log: recordLog().log, events: { recordNotice: async () => undefined } },
    ...options,
  });
}
