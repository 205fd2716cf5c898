import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli } from './support/cli.ts';
import { ScriptedServer } from './support/scripted-server.ts';
import { TestServer } from './support/server.ts';

describe('providers', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test('prints their state', async () => {
    const table = (await server.run(['providers'])).stdout;
    expect(table).toMatch(
      /^NAME {4}STATE {4}ISOLATION {2}PLATFORM {2}WORKSPACES\nmemory {2}healthy {2}none {7}- {9}\d+\n$/,
    );
    const json = JSON.parse((await server.run(['providers', '--json'])).stdout) as unknown;
    expect(json).toMatchObject({ providers: [{ name: 'memory', status: 'healthy' }] });
  });

  test('explain prints what a create would try, and why', async () => {
    const { code, stdout } = await server.run(['providers', 'explain']);
    expect(stdout).toBe(
      `For agent_workspace, deployment mode self-hosted:

TRIED  PROVIDER  WHY
1.     memory    allowed by the operator: it isolates nothing
`,
    );
    expect(code).toBe(0);
  });

  test('explain takes the type, the mode and a provider', async () => {
    const options = ['--type', 'mcp_server', '--mode', 'managed', '--provider', 'memory'];
    const { stdout } = await server.run(['providers', 'explain', ...options, '--json']);
    expect(JSON.parse(stdout)).toEqual({
      provider: 'memory',
      container_type: 'mcp_server',
      deployment_mode: 'managed',
      order: [{ name: 'memory', why: expect.any(String) as string }],
      left_out: [],
    });
    const named = await server.run(['providers', 'explain', '--provider', 'memory']);
    expect(named.stdout).toMatch(/\n\nThere is no fallback from memory\.\n$/);
  });

  test('explain refuses what nobody knows', async () => {
    const provider = await server.run(['providers', 'explain', '--provider', 'nonsense']);
    expect(provider.stderr).toMatch(/^emergent: there is no provider "nonsense"/);
    expect(provider.code).toBe(1);
    const mode = await server.run(['providers', 'explain', '--mode', 'mixed']);
    expect(mode.stderr).toContain('self-hosted, managed');
    expect(mode.code).toBe(2);
  });
});

describe('providers that do not work', () => {
  const capabilities = { isolation: 'gvisor' };
  const usual = {
    remedy: null,
    cooling_down: null,
    active_workspaces: 2,
    capabilities,
    details: {},
  };
  const answers: Readonly<Record<string, unknown>> = {
    '/api/v1/agent/workspaces/providers': {
      providers: [
        {
          ...{ ...usual, name: 'gvisor', status: 'healthy', reason: null },
          cooling_down: { until: '2030-01-01T00:00:30.000Z', reason: 'no space left' },
        },
        {
          ...{ ...usual, name: 'e2b', status: 'absent', capabilities: null, active_workspaces: 0 },
          ...{ reason: 'E2B_API_KEY is not set', remedy: 'Set it.' },
        },
      ],
    },
    '/api/v1/agent/workspaces/providers/selection': {
      ...{ provider: 'auto', container_type: 'agent_workspace', deployment_mode: 'managed' },
      order: [],
      left_out: [{ name: 'e2b', reason: 'E2B_API_KEY\nis not set' }],
    },
  };
  let server: ScriptedServer;
  beforeAll(async () => {
    server = await ScriptedServer.start((request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answers[request.url ?? '']));
    });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test('are shown with the reason, and one that failed a create with its pause', async () => {
    const { stdout } = await cli(['providers'], { env: server.env });
    expect(stdout).toBe(`NAME    STATE    ISOLATION  PLATFORM  WORKSPACES
gvisor  healthy  gvisor     -         2
e2b     absent   -          -         0

gvisor: failed a create and is passed over until 2030-01-01T00:00:30.000Z: no space left

e2b: E2B_API_KEY is not set
  remedy: Set it.
`);
  });

  test('leave a create nowhere to go', async () => {
    const { code, stdout } = await cli(['providers', 'explain'], { env: server.env });
    expect(stdout).toBe(`For agent_workspace, deployment mode managed:

TRIED  PROVIDER  WHY
not    e2b       E2B_API_KEY is not set

No provider can serve it now.
`);
    expect(code).toBe(0);
  });
});
