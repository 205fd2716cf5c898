import type { ProviderCapabilities, ProviderHealth } from './provider.ts';

/** One provider as the status route shows it. */
export interface ProviderStatus {
  readonly name: string;
  readonly health: ProviderHealth;
  /** Null: it has not answered yet, or there is nothing to ask. */
  readonly lastCheck: Date | null;
  /** It failed a create a moment ago, and is passed over by automatic choices until then. */
  readonly coolingDown: { readonly until: Date; readonly reason: string } | null;
  readonly activeWorkspaces: number;
  /** Null where the provider is not configured. */
  readonly capabilities: ProviderCapabilities | null;
}

/** A provider that people may ask for by name and that this server does not have. */
export interface UnconfiguredProvider {
  readonly name: string;
  readonly reason: string;
  readonly remedy: string;
}
