import { Failure } from '../failure.ts';
import type { ApiClient } from '../http/client.ts';
import type { McpServer } from '../http/mcp-types.ts';
import type { Plan } from '../input/mcp-import-plan.ts';
import { registerMcpServer } from './mcp-register.ts';

/** What came of one entry. */
export interface Imported {
  readonly name: string;
  readonly result: 'added' | 'replaced' | 'would add' | 'would replace' | 'skipped' | 'failed';
  readonly image: string | null;
  readonly reason: string | null;
  readonly notes: readonly string[];
  /** As it is now; null where there is none of it. */
  readonly server: McpServer | null;
}

export interface ImportOptions {
  readonly replace: boolean;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

/** Carries the plans out, one after the other; one that fails does not keep the others from it. */
export async function* importServers(
  client: ApiClient,
  plans: readonly Plan[],
  options: ImportOptions,
): AsyncGenerator<Imported> {
  const existing = new Set((await client.mcp.list()).map(({ name }) => name));
  const seen = new Set<string>();
  for (const plan of plans) {
    if (plan.kind !== 'add') {
      const result = plan.kind === 'skip' ? 'skipped' : 'failed';
      yield { ...nothing, name: plan.name, result, reason: plan.reason };
    } else if (seen.has(plan.name)) {
      const reason = 'another one of this name stands before it in the file';
      yield { ...nothing, name: plan.name, result: 'failed', reason };
    } else {
      seen.add(plan.name);
      yield await importOne(client, plan, existing.has(plan.name), options);
    }
  }
}

const nothing = { image: null, reason: null, notes: [], server: null } as const;

async function importOne(
  client: ApiClient,
  { name, server, notes }: Extract<Plan, { kind: 'add' }>,
  exists: boolean,
  { replace, dryRun, signal }: ImportOptions,
): Promise<Imported> {
  const said = { ...nothing, name, notes, image: server.image ?? null };
  if (exists && !replace) {
    return { ...said, result: 'skipped', reason: 'there is one of this name: --replace' };
  }
  if (dryRun) return { ...said, result: exists ? 'would replace' : 'would add' };
  let removed = false;
  try {
    if (exists) await client.mcp.delete(name, true);
    removed = exists;
    const added = await registerMcpServer(client, server, signal);
    const { state, reason } = added.health;
    const result = exists ? 'replaced' : 'added';
    if (state === 'healthy') return { ...said, result, image: added.image, server: added };
    const why = `it is ${state}: ${reason ?? 'no reason given'}; see: emergent mcp logs ${name}`;
    return { ...said, result: 'failed', image: added.image, reason: why, server: added };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // Without a server the others fail just the same.
    if (error.code === 'unreachable') throw error;
    const lost = removed ? '; the former one is removed, its volumes are kept' : '';
    const elsewhere = error.code === 'no_program' && server.image === undefined;
    const remedy = elsewhere ? `; --image names one that has it, such as node:24 for npx` : '';
    return { ...said, result: 'failed', reason: `${error.message}${remedy}${lost}` };
  }
}
