import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { untriedMcpState } from '../../src/domain/mcp.ts';
import type { Store } from '../../src/domain/store.ts';
import { fullState, mcpServer } from './fixtures/mcp-servers.ts';
import { put } from './fixtures/workspaces.ts';
import type { Subject } from './suite.ts';

const none = new Set();

export function hostingTests(subject: () => Subject): void {
  const putServers = async (count: number): Promise<readonly string[]> => {
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) {
      const { id } = await put(subject().store, mcpServer({ name: `server-${String(n)}` }));
      ids.push(id);
    }
    return ids;
  };

  /** The same, of nobody. */
  const putUnhosted = async (count: number): Promise<readonly string[]> => {
    const ids = await putServers(count);
    await subject().store.mcp.releaseHosting(ids);
    return ids;
  };

  test('who makes it hosts it, whoever looks for one first', async () => {
    const { store, another } = subject();
    const other = await another();
    const [id = ''] = await putServers(1);
    expect(await other.mcp.claimHosting([id])).toEqual(none);
    expect(await other.mcp.hostedElsewhere([id])).toEqual(new Set([id]));
    expect(await store.mcp.claimHosting([id])).toEqual(new Set([id]));
  });

  test('who comes first hosts, and is told so again', async () => {
    const { store, another } = subject();
    const other = await another();
    const [one = '', two = ''] = await putUnhosted(2);
    expect(await store.mcp.claimHosting([one])).toEqual(new Set([one]));
    expect(await other.mcp.claimHosting([one, two])).toEqual(new Set([two]));
    expect(await store.mcp.claimHosting([one, two])).toEqual(new Set([one]));
    expect(await store.mcp.hostedElsewhere([one, two])).toEqual(new Set([two]));
    expect(await other.mcp.hostedElsewhere([one, two])).toEqual(new Set([one]));
    expect(await store.mcp.hostedElsewhere([])).toEqual(none);
    expect(await store.mcp.claimHosting([])).toEqual(none);
  });

  test('only MCP servers that are there can be hosted', async () => {
    const { store } = subject();
    const { id } = await put(store);
    const unknown = randomUUID();
    expect(await store.mcp.claimHosting([id, unknown])).toEqual(none);
    expect(await store.mcp.hostedElsewhere([id, unknown])).toEqual(none);
  });

  test('one that nobody hosts is not hosted elsewhere', async () => {
    const [id = ''] = await putUnhosted(1);
    expect(await subject().store.mcp.hostedElsewhere([id])).toEqual(none);
  });

  test('only the host writes the state', async () => {
    const { store, another } = subject();
    const other = await another();
    const [id = ''] = await putUnhosted(1);
    expect(await store.mcp.saveState(id, untriedMcpState)).toBe(false);
    await store.mcp.claimHosting([id]);
    expect(await store.mcp.saveState(id, fullState)).toBe(true);
    expect(await other.mcp.saveState(id, untriedMcpState)).toBe(false);
    expect(await other.mcp.states()).toEqual(new Map([[id, fullState]]));
  });

  test('what was released is the next one’s, with its state; only the host can release it', async () => {
    const { store, another } = subject();
    const other = await another();
    const [id = ''] = await putServers(1);
    await store.mcp.saveState(id, fullState);
    await other.mcp.releaseHosting([id]);
    expect(await other.mcp.claimHosting([id])).toEqual(none);
    await store.mcp.releaseHosting([id]);
    expect(await other.mcp.hostedElsewhere([id])).toEqual(none);
    expect(await store.mcp.saveState(id, untriedMcpState)).toBe(false);
    expect(await other.mcp.claimHosting([id])).toEqual(new Set([id]));
    expect(await other.mcp.states()).toEqual(new Map([[id, fullState]]));
    expect(await store.mcp.claimHosting([id])).toEqual(none);
  });

  test('what a server that is gone hosted is the next one’s, with its state', async () => {
    const { store, another } = subject();
    const [id = ''] = await putUnhosted(1);
    const gone = await another();
    await gone.mcp.claimHosting([id]);
    await gone.mcp.saveState(id, fullState);
    expect(await store.mcp.claimHosting([id])).toEqual(none);
    await gone[Symbol.asyncDispose]();
    expect(await store.mcp.hostedElsewhere([id])).toEqual(none);
    expect(await store.mcp.claimHosting([id])).toEqual(new Set([id]));
    expect(await store.mcp.states()).toEqual(new Map([[id, fullState]]));
    expect(await store.mcp.saveState(id, untriedMcpState)).toBe(true);
  });

  /** Whose each server is, by what many claims at once on three servers answered. */
  const race = async (ids: readonly string[]): Promise<void> => {
    const { store, another } = subject();
    const servers: Store[] = [store, await another(), await another()];
    const claims = [...servers, ...servers, ...servers].map(async (server, n) => ({
      server,
      claimed: await server.mcp.claimHosting(n % 2 ? ids : ids.toReversed()),
    }));
    const answers = await Promise.all(claims);
    for (const id of ids) {
      const hosts = answers.filter(({ claimed }) => claimed.has(id)).map(({ server }) => server);
      expect(new Set(hosts).size).toBe(1);
    }
    const hostedByEach = servers.map(({ mcp }) => mcp.claimHosting(ids));
    const sizes = (await Promise.all(hostedByEach)).map(({ size }) => size);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(ids.length);
  };

  test('of several servers at once one gets each that was released, or left by the dead', async () => {
    const { another } = subject();
    const ids = await putUnhosted(20);
    const gone = await another();
    await gone.mcp.claimHosting(ids.slice(0, 10));
    await gone[Symbol.asyncDispose]();
    await race(ids);
  });
}
