import type { PoolDefinition, PoolStatus } from '../../../../src/domain/warm-pool.ts';
import type { Workspace } from '../../../../src/domain/workspace.ts';
import { FakeProvider } from './fake-provider.ts';
import { defaults, setUpWith } from './workspaces.ts';
import type { Setup, SetupOptions } from './workspaces.ts';

/** The pool for plain requests. */
export function poolOf(size: number, changes: Partial<PoolDefinition> = {}): PoolDefinition {
  const { image, limits } = defaults;
  return { name: 'default', size, provider: 'auto', image, limits, network: 'nat', ...changes };
}

export interface PoolSetup extends Setup, AsyncDisposable {
  /** The rows that wait. */
  waiting(): readonly Workspace[];
  status(name?: string): Promise<PoolStatus>;
  /** Time for a regular turn, and for what it begins. */
  turn(): Promise<void>;
  /** Time for the turn that somebody asked for. */
  soon(): Promise<void>;
}

/** A pool that is being looked after, once it has been filled. */
export async function startPools(
  definitions: readonly PoolDefinition[],
  options: SetupOptions = {},
  provider = options.beside?.provider ?? warmProvider(),
  ...others: FakeProvider[]
): Promise<PoolSetup> {
  const setup = setUpWith({ ...options, warmPools: definitions }, provider, ...others);
  const { pool, store, clock } = setup;
  pool.start();
  await clock.advance(200);
  return {
    ...setup,
    waiting: () => [...store.rows.values()].filter(({ status }) => status === 'warm'),
    async status(name = 'default') {
      const found = (await pool.report()).pools.find((each) => each.name === name);
      if (!found) throw new Error(`no pool ${name}`);
      return found;
    },
    turn: () => clock.advance(11_000),
    async soon() {
      // First the one that was woken comes to its next sleep.
      await clock.advance(0);
      await clock.advance(3_000);
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

export function warmProvider(
  name = 'gvisor',
  isolation: FakeProvider['isolation'] = 'gvisor',
): FakeProvider {
  return new FakeProvider(name, isolation, { warmPool: true });
}
