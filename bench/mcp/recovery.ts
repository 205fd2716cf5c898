import { systemClock } from '../../src/base/clock.ts';
import { withDeadline } from '../../src/base/deadline.ts';
import type { PrivateEngine } from '../../test/support/engine.ts';
import { startMcpEngine } from '../../test/support/mcp-engine.ts';
import { McpProcess } from '../../test/support/mcp-process.ts';

const count = 20;
const crashes = 5;
const answerMs = 120_000;

/** From the end of something to the answer of everything. */
export async function recovery(): Promise<void> {
  console.log('\nthe way back   seconds to the next answer');
  for (const liveRestore of [true, false]) await onEngine(liveRestore);
}

async function onEngine(liveRestore: boolean): Promise<void> {
  await using engine = await startMcpEngine(liveRestore);
  const settings = { DOCKER_HOST: `unix://${engine.socket}` };
  await using server = await McpProcess.start(settings, engine.docker);
  const ids: string[] = [];
  for (let number = 0; number < count; number++) {
    const body = { name: `server-${String(number)}`, image: server.images.rogue };
    ids.push((await server.hosting.register(body)).id);
  }
  const all = (): Promise<unknown> => Promise.all(ids.map((id) => answered(server, id)));
  await all();
  if (liveRestore) {
    await afterCrashes(server, ids[0] ?? '');
    await afterRemoval(server, engine, ids[1] ?? '');
    await server.kill();
    const killedAt = performance.now();
    await server.start();
    const startedAt = performance.now();
    await all();
    tell('20 servers, ours killed: from its start', [since(killedAt)], 10);
    tell('  of it after it was ready', [since(startedAt)]);
  }
  await engine.stop();
  await engine.start();
  const backAt = performance.now();
  await all();
  const how = liveRestore ? 'containers went on' : 'containers ended with it';
  tell(`20 servers, engine restarted (${how})`, [since(backAt)], 10);
}

async function afterCrashes(server: McpProcess, id: string): Promise<void> {
  const times: number[] = [];
  for (let crash = 0; crash < crashes; crash++) {
    await server.hosting.fatal(id, 'exit', { code: 1 });
    const crashedAt = performance.now();
    await answered(server, id);
    times.push(since(crashedAt));
    // Its past is forgotten: otherwise the fourth would be put off.
    await server.hosting.change(id, 'restart');
  }
  tell('a crash', times, 5);
}

async function afterRemoval(server: McpProcess, engine: PrivateEngine, id: string): Promise<void> {
  const [container] = await engine.docker.listContainers({
    filters: { label: [`dev.emergent.workspace=${id}`] },
  });
  const removedAt = performance.now();
  await engine.docker.getContainer(container?.Id ?? '').remove({ force: true });
  await answered(server, id);
  tell('a container removed by hand', [since(removedAt)], 5);
}

/** An answer of the program, however often one has to ask. */
async function answered(server: McpProcess, id: string): Promise<void> {
  await withDeadline(`an answer of ${id}`, answerMs, (signal) => ask(server, id, signal));
}

async function ask(server: McpProcess, id: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const call = { method: 'tools/call', params: { name: 'counter' }, timeout_ms: 10_000 };
    const answer = await server.hosting.request('POST', `/mcp/servers/${id}/call`, call);
    const text = await answer.text();
    if (answer.ok && text.includes('"result"')) return;
    await systemClock.sleep(20, signal);
  }
}

function since(startedAt: number): number {
  return (performance.now() - startedAt) / 1000;
}

function tell(what: string, seconds: readonly number[], goal?: number): void {
  const worst = Math.max(...seconds).toFixed(2);
  const least = Math.min(...seconds).toFixed(2);
  const range = seconds.length > 1 ? `${least} to ${worst}` : worst;
  const wanted = goal === undefined ? '' : `   goal: ≤ ${String(goal)}`;
  console.log(`  ${what.padEnd(56)}${range.padStart(14)}${wanted}`);
}
