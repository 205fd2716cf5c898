import { EmergentError } from '../../src/domain/errors.ts';
import type {
  CreatedSandbox,
  ProviderCapabilities,
  ProviderHealth,
  SandboxSpec,
} from '../../src/domain/provider.ts';
import { MemoryProvider } from '../../src/providers/memory/provider.ts';
import type { MemoryProviderOptions } from '../../src/providers/memory/provider.ts';

type Declared = Pick<ProviderCapabilities, 'isolation' | 'requires'>;

/** What the providers of the specs declare. */
const declarations = {
  firecracker: { isolation: 'microvm', requires: ['kvm'] },
  gvisor: { isolation: 'gvisor', requires: ['docker'] },
  e2b: { isolation: 'microvm', requires: ['network'] },
} as const satisfies Record<string, Declared>;

/**
 * A provider of the specs as far as the orchestrator can see it: its name and what it declares, over sandboxes that
 * are the in-memory provider's. It fails on demand.
 */
export class DeclaredProvider extends MemoryProvider {
  override readonly name: keyof typeof declarations;
  /** What health says in place of "healthy". */
  broken: ProviderHealth | undefined;
  /** Why creates fail; undefined: they do not. */
  refusal: string | undefined;
  /** How often it was asked to create. */
  creates = 0;
  /** How often it was asked for its health. */
  probes = 0;

  constructor(name: keyof typeof declarations, options: MemoryProviderOptions) {
    super(options);
    this.name = name;
  }

  override async create(spec: SandboxSpec, signal: AbortSignal): Promise<CreatedSandbox> {
    this.creates += 1;
    if (this.refusal !== undefined) throw new EmergentError('provider_failed', this.refusal);
    return super.create(spec, signal);
  }

  /** Answers without looking at anything, so that a fake clock that wakes who asks has the answer when it goes on. */
  override async health(): Promise<ProviderHealth> {
    this.probes += 1;
    return this.broken ?? { state: 'healthy', details: {} };
  }

  override async capabilities(): Promise<ProviderCapabilities> {
    return { ...(await super.capabilities()), ...declarations[this.name] };
  }

  /** Until `mend`. */
  breaks(reason: string, state: 'unhealthy' | 'absent' = 'unhealthy'): void {
    this.broken = { state, reason, remedy: 'Mend it.', details: {} };
  }

  mend(): void {
    this.broken = undefined;
    this.refusal = undefined;
  }
}
