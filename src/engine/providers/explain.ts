import type {
  LeftOut,
  SelectionExplained,
  SelectionRequest,
  SelectionRules,
} from '../../domain/selection.ts';
import { rulesFor } from '../lifecycle/candidates.ts';
import type { SelectionSettings } from '../lifecycle/candidates.ts';
import type { Providers } from '../providers.ts';

/** What a create like this would try now, by the same way as a create. A name nobody knows is refused. */
export async function explainSelection(
  providers: Providers,
  request: SelectionRequest,
  settings: SelectionSettings,
): Promise<SelectionExplained> {
  const rules = rulesFor(request, settings);
  const { containerType, deploymentMode } = rules;
  const provider = request.provider ?? 'auto';
  const decision =
    provider === 'auto' ? await automatic(providers, rules) : await explicit(providers, provider);
  return { provider, containerType, deploymentMode, ...decision };
}

type Decision = Pick<SelectionExplained, 'order' | 'leftOut'>;

async function automatic(providers: Providers, rules: SelectionRules): Promise<Decision> {
  const { order, leftOut, why } = await providers.select(rules);
  return { order: order.map((name) => ({ name, why: why.get(name) ?? '' })), leftOut };
}

async function explicit(providers: Providers, name: string): Promise<Decision> {
  const health = await providers.healthOf(name);
  const others = providers.names
    .filter((other) => other !== name)
    .map((other): LeftOut => ({ name: other, reason: `only ${name} was asked for` }));
  if (health.state !== 'healthy') {
    return { order: [], leftOut: [{ name, reason: health.reason }, ...others] };
  }
  const why = 'asked for by name, and usable now; if it fails, no other is tried';
  return { order: [{ name, why }], leftOut: others };
}
