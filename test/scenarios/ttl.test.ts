import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeMcpConfig } from '../../src/store/mcp/config.ts';
import { mcpConfig } from '../store/fixtures/mcp-servers.ts';
import { FakeClock } from '../support/clock.ts';
import { startPostgres } from '../support/postgres.ts';
import { verifies } from '../support/verifies.ts';
import { ScenarioServer, everyProvider, passTime, resourcesOf } from './support.ts';

const minute = 60_000;
const hour = 60 * minute;
const thirtyDays = 30 * 24 * hour;

describe.each(everyProvider)('time to live on %s', (_, settings) => {
  let clock: FakeClock;
  let server: ScenarioServer;
  beforeAll(async () => {
    clock = new FakeClock(new Date());
    server = await ScenarioServer.start(settings, undefined, clock);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  verifies(
    ['lifecycle/workspace-expires-after-ttl'],
    'what was not used for so long is destroyed, running or stopped, and the cleanup is logged',
    async () => {
      const [ready, stopped, kept] = await Promise.all([
        server.create({ ttl_seconds: 3600 }),
        server.create({ ttl_seconds: 3600 }),
        server.create({ ttl_seconds: 7200 }),
      ]);
      await server.call('POST', `/${stopped}/stop`);
      await passTime(clock, hour);
      for (const id of [ready, stopped]) {
        const { detail } = await server.event(id, 'workspace.destroyed');
        expect(detail).toMatchObject({ reason: 'expired' });
        expect((await server.call('GET', `/${id}`)).status).toBe(404);
        expect(await resourcesOf(server.docker, id)).toEqual([]);
      }
      const { actor, detail } = await server.event(ready, 'workspace.destroying');
      expect([actor, detail['reason']]).toEqual(['reaper', 'expired']);
      expect((await server.bash(kept, 'echo alive')).body.stdout).toBe('alive\n');
    },
  );

  test('an operation in progress holds it off', async () => {
    const id = await server.create({ ttl_seconds: 60 });
    const running = server.call('POST', `/${id}/bash`, {
      command: 'touch started; until [ -e enough ]; do sleep 0.05; done',
      timeout_ms: 24 * hour,
    });
    await server.bash(id, 'until [ -e started ]; do sleep 0.05; done');
    await passTime(clock, 5 * minute);
    expect((await server.call('GET', `/${id}`)).body.status).toBe('ready');
    await server.bash(id, 'touch enough');
    expect((await running).body.exit_code).toBe(0);
    await passTime(clock, 2 * minute);
    await server.event(id, 'workspace.destroyed');
  });

  verifies(
    ['lifecycle/active-workspace-ttl-extension'],
    'every tool operation moves last_used_at to now and expires_at 30 days ahead',
    async () => {
      const id = await server.create();
      const times = async (): Promise<readonly number[]> => {
        const { body } = await server.call('GET', `/${id}`);
        return [Date.parse(body.last_used_at), Date.parse(body.expires_at)];
      };
      const now = (): number => clock.now().getTime();
      expect(await times()).toEqual([now(), now() + thirtyDays]);
      const file = `${server.url}/api/v1/agent/workspaces/${id}/files?path=file`;
      const headers = { authorization: `Bearer ${server.token}` };
      const operations = [
        () => server.bash(id, 'true'),
        () => fetch(file, { method: 'PUT', body: 'content', headers }),
        async () => (await fetch(file, { headers })).text(),
        () => server.call('POST', `/${id}/processes`, { command: 'true' }),
      ];
      for (const operate of operations) {
        await clock.advance(minute);
        await operate();
        expect(await times()).toEqual([now(), now() + thirtyDays]);
      }
    },
  );
});

describe('time to live', () => {
  verifies(
    ['lifecycle/mcp-servers-are-exempt-from-ttl'],
    'the cleanup leaves persistent MCP servers alone, however old they are',
    async () => {
      await using postgres = await startPostgres();
      const clock = new FakeClock(new Date());
      const url = await postgres.createDatabase();
      const settings = { EMERGENT_DEMO: '1', DATABASE_URL: url };
      await using server = await ScenarioServer.start(settings, undefined, clock);
      const mcp = await server.create({ ttl_seconds: 3600 });
      const agent = await server.create({ ttl_seconds: 3600 });
      await server.call('POST', `/${mcp}/stop`);
      await execute(
        url,
        `update kb.agent_workspaces
            set container_type = 'mcp_server', lifecycle = 'persistent', expires_at = null,
                ttl_seconds = null, created_at = '2020-01-01', last_used_at = '2020-01-01',
                mcp_config = $2
          where id = $1 and status = 'stopped' and desired_state = 'stopped'`,
        [mcp, encodeMcpConfig(mcpConfig()) ?? ''],
      );
      await passTime(clock, hour);
      await server.event(agent, 'workspace.destroyed');
      expect((await server.call('GET', `/${mcp}`)).body).toMatchObject({
        status: 'stopped',
        expires_at: null,
      });
    },
  );
});

async function execute(url: string, sql: string, values: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql, [...values]);
  } finally {
    await client.end();
  }
}
