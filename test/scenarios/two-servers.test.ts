import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { ServerGroup } from '../support/server-group.ts';
import { verifies } from '../support/verifies.ts';

const limit = 10;

interface Reply {
  readonly status: number;
  readonly body: {
    readonly id: string;
    readonly error: { readonly code: string; readonly hint: string; readonly details: unknown };
  };
}

class Server {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = `${url}/api/v1/agent/workspaces`;
    this.#token = token;
  }

  async call(method: string, path = ''): Promise<Reply> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { authorization: `Bearer ${this.#token}` },
      signal: AbortSignal.timeout(120_000),
    });
    return { status: response.status, body: (await response.json()) as Reply['body'] };
  }
}

describe('two servers on one PostgreSQL', () => {
  let group: ServerGroup;
  let sql: ServerGroup['sql'];
  let servers: readonly [Server, Server];

  const count = async (condition: string): Promise<number> => {
    const { rows } = await sql.query<{ count: string }>(
      `select count(*) from kb.agent_workspaces where ${condition}`,
    );
    return Number(rows[0]?.count);
  };

  beforeAll(async () => {
    group = await ServerGroup.start();
    const start = async (name: string): Promise<Server> => {
      const { url } = await group.serve(name, () => ({
        EMERGENT_LOG_LEVEL: 'warn',
        WORKSPACE_MAX_CONCURRENT: String(limit),
      }));
      return new Server(url, group.token);
    };
    servers = await Promise.all([start('first'), start('second')]);
    ({ sql } = group);
  });

  afterAll(() => group[Symbol.asyncDispose]());

  verifies(
    ['lifecycle/workspace-creation-exceeds-concurrent-limit'],
    'a thousand creates at once never pass the limit of ten, and the others are told what to do',
    async () => {
      const running = `status in ('creating', 'ready', 'resuming')`;
      const sampled: number[] = [];
      const over = new AbortController();
      // In hand: answered with 201, its destroy not yet asked for. The first ten are, until they have been counted.
      let inHand = 0;
      let most = 0;
      const full = Promise.withResolvers<void>();
      const sampling = (async () => {
        while (!over.signal.aborted) {
          const isFull = inHand === limit;
          sampled.push(await count(running));
          if (isFull) full.resolve();
        }
      })();

      const attempt = async (number: number): Promise<Reply> => {
        const [first, second] = servers;
        const [one, other] = number % 2 === 0 ? [first, second] : [second, first];
        const reply = await one.call('POST');
        if (reply.status !== 201) return reply;
        inHand += 1;
        most = Math.max(most, inHand);
        await full.promise;
        inHand -= 1;
        // Every other one by the server that did not make it.
        const by = number % 4 < 2 ? one : other;
        expect((await by.call('DELETE', `/${reply.body.id}`)).status).toBe(200);
        return reply;
      };
      const replies = await Promise.all(Array.from({ length: 1_000 }, (_, at) => attempt(at)));
      over.abort();
      await sampling;

      expect(most).toBe(limit);
      expect(Math.max(...sampled)).toBe(limit);
      const refused = replies.filter(({ status }) => status !== 201);
      expect(refused.length).toBeGreaterThan(0);
      for (const { status, body } of refused) {
        expect([status, body.error.code]).toEqual([429, 'limit_reached']);
        expect(body.error.hint).toMatch(/wait .*destroy/i);
        expect(body.error.details).toMatchObject({ limit });
      }
      expect(await count('true')).toBe(0);
      // What the log says of it: each was created once and destroyed once.
      const { rows } = await sql.query<{ type: string; count: string; ids: string }>(
        `select type, count(*), count(distinct workspace_id) as ids from kb.workspace_events
          where type in ('workspace.creating', 'workspace.ready', 'workspace.destroying', 'workspace.destroyed')
          group by type`,
      );
      const created = String(replies.length - refused.length);
      expect(rows).toHaveLength(4);
      for (const row of rows) expect(row).toMatchObject({ count: created, ids: created });
    },
    180_000,
  );

  verifies(
    ['lifecycle/workspace-expires-after-ttl'],
    'each expired workspace is destroyed once, though both servers look for them',
    async () => {
      await sql.query('truncate kb.workspace_events');
      // Claims take a moment each, so that those of both servers overlap; as long as one of them has not come yet, so
      // much that it comes before the other has claimed all. Who claimed what is noted apart.
      await sql.query(`
        create table claims (id uuid, operator integer);
        create function note_claim() returns trigger language plpgsql as $$
          begin
            perform pg_sleep(case when (select count(distinct operator) from claims) < 2 then 0.4 else 0.01 end);
            insert into claims values (new.id, new.operator);
            return null;
          end $$;
        create trigger note_claim after update on kb.agent_workspaces for each row
          when (new.status = 'destroying' and old.status <> 'destroying') execute function note_claim()`);
      const [first, second] = servers;
      const ids: string[] = [];
      for (let round = 0; round < 100 / limit; round += 1) {
        const creates = Array.from({ length: limit }, (_, at) =>
          (at % 2 ? first : second).call('POST'),
        );
        ids.push(...(await Promise.all(creates)).map(({ body }) => body.id));
        // Stopped ones hold no slot, and expire too.
        await Promise.all(
          ids.slice(-limit).map((id, at) => (at % 2 ? first : second).call('POST', `/${id}/stop`)),
        );
      }
      expect(await count(`status = 'stopped'`)).toBe(100);

      await sql.query(`update kb.agent_workspaces set expires_at = now() - interval '1 minute'`);
      await vi.waitFor(
        async () => {
          expect(await count('true')).toBe(0);
        },
        {
          timeout: 90_000,
          interval: 200,
        },
      );

      const events = await sql.query<{ workspace_id: string; types: string[]; first: string }>(
        `select workspace_id, array_agg(type order by id) as types, (array_agg(actor order by id))[1] as first
           from kb.workspace_events
          where type in ('workspace.destroying', 'workspace.destroyed')
          group by workspace_id`,
      );
      expect(events.rows.map(({ workspace_id: id }) => id).toSorted()).toEqual(ids.toSorted());
      for (const { types, first: actor } of events.rows) {
        expect(types).toEqual(['workspace.destroying', 'workspace.destroyed']);
        expect(actor).toBe('reaper');
      }
      const claims = await sql.query<{ operators: string; claims: string; ids: string }>(
        `select count(distinct operator) as operators, count(*) as claims, count(distinct id) as ids from claims`,
      );
      expect(claims.rows).toEqual([{ operators: '2', claims: '100', ids: '100' }]);
    },
    180_000,
  );
});
