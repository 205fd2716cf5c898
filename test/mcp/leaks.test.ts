import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, toolText } from '../support/mcp-clients.ts';
import { hostingTimeout } from '../support/mcp-hosting.ts';
import { McpProcess } from '../support/mcp-process.ts';
import { childrenOf, openFiles } from '../support/mcp-traces.ts';
import { startPostgres } from '../support/postgres.ts';

/** `npm run bench:mcp -- cycles` goes through many more of them. */
const cycles = 12;

/** What others on this machine hold for a moment, and connections that wait for more requests, are gone by then. */
const passing = { timeout: 60_000 };

describe('registering and deleting again and again', hostingTimeout, () => {
  const opened = new AsyncDisposableStack();
  let server: McpProcess;
  let database: pg.Client;

  beforeAll(async () => {
    const postgres = opened.use(await startPostgres());
    const url = await postgres.createDatabase();
    server = opened.use(await McpProcess.start({ DATABASE_URL: url }));
    database = new pg.Client({ connectionString: url });
    await database.connect();
    opened.defer(() => database.end());
  });
  afterAll(() => opened.disposeAsync());

  async function cycle(number: number): Promise<void> {
    const { hosting, images, traces } = server;
    const body = { image: images.rogue, volumes: ['/data'] };
    const { id } = await hosting.register({ name: `cycle-${String(number)}`, ...body });
    await traces.remember(id);
    const client = await connect(server, id);
    expect(await toolText(client, 'counter')).toBe('1');
    await client.close();
    await hosting.delete(id);
  }

  async function rows(): Promise<unknown> {
    const tables = ['agent_workspaces', 'mcp_state', 'kept_volumes'];
    const counts = tables.map((table) => `(select count(*)::int from kb.${table}) as ${table}`);
    return (await database.query(`select ${counts.join(', ')}`)).rows[0];
  }

  test('leaves containers, volumes, disks, processes, rows and sockets as they were', async () => {
    // What a server opens once and keeps: connections to the database and to the engine.
    for (const number of [1, 2, 3]) await cycle(number);
    const before = await openFiles(server.pid);
    for (let number = 1; number <= cycles; number++) await cycle(number);
    await expect.poll(() => server.traces.left(), passing).toEqual([]);
    expect(await rows()).toEqual({ agent_workspaces: 0, mcp_state: 0, kept_volumes: 0 });
    // It keeps one, which starts what it needs besides for as long as that does something.
    const launcher = expect.stringContaining('launcher-process.ts') as string;
    await expect.poll(() => childrenOf(server.pid), passing).toEqual([launcher]);
    const more = async (): Promise<readonly string[]> => {
      const files = Object.entries(await openFiles(server.pid));
      return files.filter(([kind, now]) => now > (before[kind] ?? 0)).map(([kind]) => kind);
    };
    await expect.poll(more, passing).toEqual([]);
    const { body } = await server.hosting.request('GET', '/mcp/volumes');
    expect(await new Response(body).json()).toEqual({ items: [] });
  });
});
