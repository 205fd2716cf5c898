import { BareSandbox } from '../support/bare-sandbox.ts';
import type { BenchServer } from '../support/server.ts';

/** What the benchmarks read of a new workspace. */
export interface Created {
  readonly id: string;
  readonly metadata: { readonly start_steps_ms?: Readonly<Record<string, number>> };
}

/** No pool holds any like this: the same as the default but for a little memory. */
export const unpooled = { resource_limits: { memory: '4095M' } };

export async function create(server: BenchServer, wanted?: unknown): Promise<Created> {
  return (await (await server.request('POST', '', wanted)).json()) as Created;
}

export async function firstCommand(server: BenchServer, { id }: Created): Promise<void> {
  const response = await server.request('POST', `/${id}/bash`, { command: 'true' });
  const { exit_code: code } = (await response.json()) as { exit_code: number };
  if (code !== 0) throw new Error(`exit code ${String(code)}`);
}

export async function destroy(server: BenchServer, { id }: Created): Promise<void> {
  await server.request('DELETE', `/${id}`);
}

/** Bare sandboxes with the limits, the network and a disk like those of the server's workspaces. */
export async function bareLike(server: BenchServer, count: number): Promise<BareSandbox[]> {
  const model = await create(server, unpooled);
  const numbers = Array.from({ length: count }, (_, number) => number);
  const name = `emergent-${model.id}`;
  const bare = await Promise.all(numbers.map((number) => BareSandbox.like(name, true, number)));
  await destroy(server, model);
  return bare;
}
