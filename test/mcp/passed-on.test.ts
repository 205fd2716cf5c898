import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { McpServer } from '../../src/cli/http/mcp-types.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { connect, connectModern, toolText } from '../support/mcp-clients.ts';
import { McpHosting, textOf } from '../support/mcp-hosting.ts';
import { ServerGroup } from '../support/server-group.ts';
import type { ServerProcess } from '../support/server-process.ts';

const program = join(import.meta.dirname, 'fixtures/patient-server.ts');
const patient = { command: process.execPath, args: [program] };

interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string; readonly hint: string };
}

interface Running {
  readonly url: string;
  readonly process: ServerProcess;
  readonly hosting: McpHosting;
  /** The log's lines about requests that were passed on, or with this id. */
  logged(requestId?: string): Promise<readonly Record<string, unknown>[]>;
}

// One has an address for the other; the other has none.
describe('requests that reach a server which does not host the MCP server', () => {
  let group: ServerGroup;
  let sql: ServerGroup['sql'];
  let token: string;
  let addressed: Running;
  let silent: Running;
  let server: McpServer;

  const start = async (name: string, isAddressed: boolean): Promise<Running> => {
    const { url, process, log } = await group.serve(name, (at) =>
      isAddressed ? { EMERGENT_ADVERTISE_URL: at } : {},
    );
    return {
      ...{ url, process, hosting: new McpHosting({ url, token }) },
      async logged(requestId) {
        const lines = (await readFile(log, 'utf8')).trimEnd().split('\n');
        const requests = lines
          .map((line) => JSON.parse(line) as Record<string, unknown>)
          .filter(({ msg }) => msg === 'request');
        return requests.filter(({ request_id: id, passed_to: to }) =>
          requestId === undefined ? to !== undefined : id === requestId,
        );
      },
    };
  };
  /** Where the others are told that `addressed` is, while `work` runs. */
  const withAddress = async (url: string, work: () => Promise<void>): Promise<void> => {
    await sql.query('update kb.server_addresses set url = $1', [url]);
    try {
      await work();
    } finally {
      await sql.query('update kb.server_addresses set url = $1', [addressed.url]);
    }
  };
  const refusal = async (
    by: Running,
    method: string,
    path: string,
    body?: unknown,
    as = token,
  ): Promise<{ status: number; id: string | null } & ErrorBody> => {
    const answer = await by.hosting.request(method, path, body, as);
    const { status, headers } = answer;
    const id = headers.get('x-request-id');
    return { status, id, ...((await answer.json()) as ErrorBody) };
  };

  beforeAll(async () => {
    group = await ServerGroup.start();
    ({ sql, token } = group);
    [addressed, silent] = await Promise.all([start('addressed', true), start('silent', false)]);
    server = await addressed.hosting.register({ name: 'patient', ...patient });
  });
  afterAll(() => group[Symbol.asyncDispose]());

  test('its status, by id and by name, is what its host says', async () => {
    const { rows } = await sql.query<{ number: number }>('select number from kb.server_addresses');
    for (const ref of [server.id, 'patient', 'PATIENT']) {
      expect((await silent.hosting.get(ref)).health.state).toBe('healthy');
    }
    const metrics = await fetch(`${silent.url}/metrics`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await metrics.text()).toContain('emergent_mcp_passed_on_total 3');
    // A line is written when its answer is out.
    const passed = await eventually(async () => {
      const logged = await silent.logged();
      expect(logged).toHaveLength(3);
      return logged;
    });
    for (const line of passed) {
      const { number } = rows[0] ?? {};
      expect(line).toMatchObject({
        route: '/api/v1/mcp/servers/:id',
        status: 200,
        passed_to: number,
      });
      await eventually(async () => {
        expect(await addressed.logged(String(line['request_id']))).toHaveLength(1);
      });
    }
  });

  test('a client of 2025 is told of progress before the call ends, and keeps its session', async () => {
    await using client = await connect({ url: silent.url, token }, 'patient');
    const progress = Promise.withResolvers<void>();
    const waiting = client.callTool({ name: 'wait', arguments: {} }, undefined, {
      onprogress: () => {
        progress.resolve();
      },
    });
    await progress.promise;
    expect(await toolText(client, 'go')).toBe('true');
    expect(textOf(await waiting)).toBe('gone');
    expect(await toolText(client, 'who')).toBe(await addressed.hosting.tool(server.id, 'who'));
  });

  test('a client of 2026-07-28 as well', async () => {
    await using client = await connectModern({ url: silent.url, token }, 'patient');
    const progress = Promise.withResolvers<void>();
    const waiting = client.callTool(
      { name: 'wait', arguments: {} },
      {
        onprogress: () => {
          progress.resolve();
        },
      },
    );
    await progress.promise;
    expect(await toolText(client, 'go')).toBe('true');
    expect(textOf(await waiting)).toBe('gone');
  });

  test('a single call, its log, stop, start and restart', async () => {
    const { hosting } = silent;
    const said = 'ü'.repeat(100_000);
    expect(await hosting.tool('patient', 'echo', { text: said })).toBe(said);
    expect((await hosting.logs('patient')).map(({ text }) => text)).toContain('waiting');
    const before = await hosting.tool('patient', 'who');
    expect((await hosting.change('patient', 'stop')).health.state).toBe('stopped');
    expect((await addressed.hosting.get('patient')).health.state).toBe('stopped');
    expect((await hosting.change('patient', 'start')).health.state).toBe('healthy');
    const after = await hosting.tool('patient', 'who');
    expect(after).not.toBe(before);
    await hosting.change('patient', 'restart');
    expect(await hosting.tool('patient', 'who')).not.toBe(after);
  });

  test('what the host refuses is refused in its words, with the caller’s request id', async () => {
    const call = `/mcp/servers/patient/call`;
    const tooLarge = { method: 'tools/call', params: { text: 'x'.repeat(3 * 2 ** 20) } };
    expect(await refusal(silent, 'POST', call, tooLarge)).toMatchObject({
      status: 413,
      error: { code: 'body_too_large' },
    });
    const wrong = await refusal(silent, 'POST', call, { nonsense: true });
    expect(wrong).toMatchObject({ status: 422, error: { request_id: wrong.id } });
  });

  test('who may not see it learns nothing of it; whom it is shared with uses it and no more', async () => {
    const made = await silent.hosting.request('POST', '/tokens', { name: 'one', role: 'agent' });
    const { token: agent } = (await made.json()) as { token: string };
    const open = await addressed.hosting.register({ name: 'open', shared: true, ...patient });
    const words = async (ref: string): Promise<unknown> => {
      const answers = [
        await refusal(silent, 'GET', `/mcp/servers/${ref}`, undefined, agent),
        await refusal(silent, 'POST', `/mcp/servers/${ref}/call`, { nonsense: true }, agent),
        await refusal(silent, 'POST', `/mcp/servers/${ref}/stop`, {}, agent),
      ];
      return answers.map(({ status, error }) => [status, error.code, error.message, error.hint]);
    };
    const absent = JSON.stringify(await words('nothing'));
    const theirs = absent.replaceAll('nothing', 'patient');
    expect(JSON.stringify(await words('patient'))).toBe(theirs);
    await withAddress(`http://127.0.0.1:${String(await freePort())}`, async () => {
      expect(JSON.stringify(await words('patient'))).toBe(theirs);
    });
    expect(absent).toContain('mcp_server_not_found');

    const use = { method: 'tools/call', params: { name: 'echo', arguments: { text: 'hello' } } };
    const used = await silent.hosting.request('POST', '/mcp/servers/open/call', use, agent);
    expect(textOf(((await used.json()) as { result: unknown }).result)).toBe('hello');
    expect(await refusal(silent, 'POST', '/mcp/servers/open/stop', {}, agent)).toMatchObject({
      status: 403,
      error: { code: 'forbidden' },
    });
    await silent.hosting.delete(open.id);
    expect((await addressed.hosting.list()).map(({ id }) => id)).not.toContain(open.id);
  });

  test('a host that cannot be reached is said to be so, and nothing was done', async () => {
    await withAddress(`http://127.0.0.1:${String(await freePort())}`, async () => {
      const answer = await refusal(silent, 'POST', '/mcp/servers/patient/stop', {});
      expect(answer).toMatchObject({
        status: 503,
        error: {
          code: 'host_unreachable',
          message: expect.stringMatching(
            /^server \d+, which hosts it, cannot be reached: ECONNREFUSED$/,
          ) as unknown,
          hint: expect.stringContaining('EMERGENT_ADVERTISE_URL') as unknown,
          request_id: answer.id,
        },
      });
    });
    expect((await silent.hosting.get('patient')).health.state).toBe('healthy');
  });

  test('a server that is led to itself passes it on once and no more', async () => {
    await withAddress(silent.url, async () => {
      const refused = await refusal(silent, 'POST', '/mcp/servers/patient/stop', {});
      expect(refused).toMatchObject({ status: 503, error: { code: 'hosted_elsewhere' } });
      await eventually(async () => {
        const lines = await silent.logged(String(refused.id));
        expect(lines.map(({ passed_to: to }) => to !== undefined).toSorted()).toEqual([
          false,
          true,
        ]);
      });
    });
  });

  test('a host without an address is passed nothing, and the caller told what would help', async () => {
    const { id } = await silent.hosting.register({ name: 'unreached', ...patient });
    expect(await refusal(addressed, 'POST', '/mcp/servers/unreached/stop', {})).toMatchObject({
      status: 503,
      error: {
        code: 'hosted_elsewhere',
        hint: expect.stringContaining('EMERGENT_ADVERTISE_URL') as unknown,
      },
    });
    await silent.hosting.delete(id);
  });

  test('what a killed host had is taken over by whoever is asked for it', async () => {
    const before = await silent.hosting.tool('patient', 'who');
    await addressed.process.kill();
    const after = await eventually(async () => {
      const body = { method: 'tools/call', params: { name: 'who' } };
      const answer = await silent.hosting.request('POST', '/mcp/servers/patient/call', body);
      const { result, error } = (await answer.json()) as { result: unknown } & Partial<ErrorBody>;
      // Until the database has noticed that the connection of the dead is gone.
      if (error) expect(error.code).toBe('host_unreachable');
      expect(answer.status).toBe(200);
      return textOf(result);
    });
    expect(after).not.toBe(before);
    await silent.hosting.delete('patient');
    expect(await silent.hosting.list()).toEqual([]);
  });
});
