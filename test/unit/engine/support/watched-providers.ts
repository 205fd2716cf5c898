import type { WorkspaceEvent } from '../../../../src/domain/events.ts';
import type { SelectionRules } from '../../../../src/domain/selection.ts';
import type { Providers, ProvidersOptions } from '../../../../src/engine/providers.ts';
import { FakeClock } from '../../../support/clock.ts';
import { recordLog } from '../../../support/log.ts';
import type { RecordedLog } from '../../../support/log.ts';
import { FakeProvider, unhealthy } from './fake-provider.ts';
import { MemoryEventStore } from './memory-events.ts';
import { providersOf } from './providers.ts';

export interface WatchedProviders {
  readonly providers: Providers;
  readonly clock: FakeClock;
  readonly recorded: RecordedLog;
  readonly events: MemoryEventStore;
  /** The log, as "level: message, provider". */
  readonly told: () => readonly string[];
  /** The event log, as "type from before". */
  readonly noted: () => readonly string[];
}

/** Providers as a server has them; not started. Every 30 s is exactly that, unless `random` says otherwise. */
export function setUpProviders(
  fakes: readonly FakeProvider[],
  options: Partial<ProvidersOptions> = {},
): WatchedProviders {
  const clock = new FakeClock();
  const recorded = recordLog();
  const events = new MemoryEventStore(() => undefined);
  const random = (): number => 0.5;
  const own = { events, random, log: recorded.log };
  const providers = providersOf(fakes, clock, { ...own, ...options });
  const told = (): readonly string[] =>
    recorded
      .entries()
      .map(({ level, msg, ...fields }) => `${level}: ${msg}, ${String(fields['provider'])}`);
  const noted = (): readonly string[] => events.events.map(shown);
  return { providers, clock, recorded, events, told, noted };
}

function shown({ type, detail }: WorkspaceEvent): string {
  return `${String(detail['provider'])}: ${type} from ${String(detail['from'])}`;
}

export const agents: SelectionRules = {
  allowUnsandboxed: false,
  containerType: 'agent_workspace',
  deploymentMode: 'self-hosted',
};

/** A provider of microVMs that needs KVM; without it, it says so. */
export function firecracker(kvm: 'with KVM' | 'without KVM' = 'with KVM'): FakeProvider {
  const provider = new FakeProvider('firecracker', 'microvm', { requires: ['kvm'] });
  if (kvm === 'without KVM')
    provider.health.mockResolvedValue(unhealthy('KVM unavailable', 'absent'));
  return provider;
}

export function gvisor(): FakeProvider {
  return new FakeProvider('gvisor', 'gvisor', { requires: ['docker'] });
}

/** A managed provider with its API key. */
export function e2b(): FakeProvider {
  return new FakeProvider('e2b', 'microvm', { requires: ['network'] });
}
