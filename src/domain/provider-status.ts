import type { ProviderCapabilities, ProviderHealth } from './provider.ts';

/** One provider as the status route shows it. */
export interface ProviderStatus {
  readonly name: string;
  readonly health: ProviderHealth;
  readonly lastCheck: Date;
  readonly activeWorkspaces: number;
  readonly capabilities: ProviderCapabilities;
}
