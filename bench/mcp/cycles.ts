import { connect, toolText } from '../../test/support/mcp-clients.ts';
import { McpProcess } from '../../test/support/mcp-process.ts';
import { childrenOf, openFiles } from '../../test/support/mcp-traces.ts';
import { proportionalKb } from '../support/host-use.ts';
import { quantile } from '../support/measure.ts';

/** Registers a server, calls it and deletes it, many times over; says what is left and what it took. */
export async function cycles(count: number): Promise<void> {
  await using server = await McpProcess.start();
  const { hosting, images, traces } = server;
  const times = { register: [] as number[], delete: [] as number[] };
  const cycle = async (number: number): Promise<void> => {
    const body = { image: images.rogue, volumes: ['/data'] };
    const startedAt = performance.now();
    const { id } = await hosting.register({ name: `cycle-${String(number)}`, ...body });
    times.register.push(performance.now() - startedAt);
    await traces.remember(id);
    const client = await connect(server, id);
    await toolText(client, 'counter');
    await client.close();
    const deletedAt = performance.now();
    await hosting.delete(id);
    times.delete.push(performance.now() - deletedAt);
  };
  const state = async (): Promise<string> => {
    const files = Object.entries(await openFiles(server.pid)).toSorted();
    const open = files.map(([kind, number]) => `${String(number)} ${kind}`).join(', ');
    const children = (await childrenOf(server.pid)).length;
    return `${open}; ${String(children)} children; ${String(await proportionalKb(server.pid))} KB`;
  };
  for (const number of [1, 2, 3]) await cycle(number);
  console.log(`\n${String(count)} servers registered, called and deleted, one after the other`);
  console.log(`  the server before   ${await state()}`);
  for (let number = 0; number < count; number++) await cycle(number);
  console.log(`  the server after    ${await state()}`);
  const left = await traces.left();
  console.log(`  left on the host    ${left.length === 0 ? 'nothing' : left.join('\n')}`);
  for (const [name, all] of Object.entries(times)) {
    const [half, most] = [0.5, 0.95].map((q) => quantile({ name, times: all }, q).toFixed(0));
    console.log(`  ${name.padEnd(18)}  p50 ${half ?? ''} ms, p95 ${most ?? ''} ms`);
  }
}
