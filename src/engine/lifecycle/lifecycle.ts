import type { Upkeep } from '../upkeep.ts';
import type { LifecycleContext } from './context.ts';
import { Creation } from './creation.ts';
import { Destruction } from './destruction.ts';
import { Suspension } from './suspension.ts';
import { UpkeepChanges } from './upkeep-changes.ts';

/** Every way in which a workspace changes, for all who change any: callers, the upkeep, the warm pool. */
export interface Lifecycle {
  readonly creation: Creation;
  readonly suspension: Suspension;
  readonly destruction: Destruction;
  readonly upkeep: Upkeep;
}

export function lifecycleOf(context: LifecycleContext): Lifecycle {
  const destruction = new Destruction(context);
  const creation = new Creation(context, destruction);
  const suspension = new Suspension(context);
  const upkeep = new UpkeepChanges(context, creation, suspension, destruction);
  return { creation, suspension, destruction, upkeep };
}
