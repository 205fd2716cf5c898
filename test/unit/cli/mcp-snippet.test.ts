import { describe, expect, test } from 'vitest';
import { serverTarget, wholeTarget, workspaceTarget } from '../../../src/cli/remote/mcp-targets.ts';
import { snippet, snippetAdvice, snippetClients } from '../../../src/cli/terminal/mcp-snippet.ts';

const url = 'https://emergent.example';
const id = '1f0c1f0c-0000-4000-8000-000000000001';
const memory = serverTarget(url, { id, name: 'memory' }, 'memory');
const endpoint = `${url}/api/v1/mcp/servers/memory/mcp`;
const local = { command: 'emergent', env: { EMERGENT_URL: url }, needsToken: false };

describe('over HTTP', () => {
  const http = (token: string) => ({
    ...{ type: 'http', url: endpoint },
    headers: { Authorization: `Bearer ${token}` },
  });

  test('the token is a placeholder that the client fills in', () => {
    const mcpServers = { memory: http('${EMERGENT_TOKEN}') };
    expect(snippet([memory], { client: 'json' })).toEqual({ mcpServers });
    expect(snippet([memory], { client: 'claude' })).toEqual({ mcpServers });
    const { type: _, ...untyped } = http('${env:EMERGENT_TOKEN}');
    expect(snippet([memory], { client: 'cursor' })).toEqual({ mcpServers: { memory: untyped } });
  });

  test('VS Code asks for it', () => {
    expect(snippet([memory], { client: 'vscode' })).toEqual({
      inputs: [
        {
          ...{ type: 'promptString', id: 'emergent-token', password: true },
          description: 'Access token of the Emergent server',
        },
      ],
      servers: { memory: http('${input:emergent-token}') },
    });
  });

  test.for(snippetClients)('%s with the token itself: nothing is left to fill in', (client) => {
    const made = snippet([memory], { client, token: 'secret' });
    expect(JSON.stringify(made)).toContain('"Bearer secret"');
    expect(JSON.stringify(made)).not.toMatch(/\$\{|inputs/);
    expect(snippetAdvice({ client, token: 'secret' }).join(' ')).toContain(
      'keep the file to yourself',
    );
  });

  test('several at once, under names that every client takes', () => {
    const dotted = serverTarget(url, { id, name: 'a.b' }, id);
    const made = snippet([memory, dotted, workspaceTarget(url, id), wholeTarget(url)], {
      client: 'json',
    });
    expect(made).toMatchObject({
      mcpServers: {
        memory: { url: endpoint },
        'a-b-1f0c1f0c': { url: `${url}/api/v1/mcp/servers/${id}/mcp` },
        'workspace-1f0c1f0c': { url: `${url}/api/v1/agent/workspaces/${id}/mcp` },
        emergent: { url: `${url}/api/v1/mcp` },
      },
    });
  });
});

describe('over standard input', () => {
  test('our own command, which finds its token where this one did', () => {
    expect(snippet([memory], { client: 'claude', stdio: local })).toEqual({
      mcpServers: {
        memory: {
          command: 'emergent',
          args: ['mcp', 'stdio', '--server', 'memory'],
          env: { EMERGENT_URL: url },
        },
      },
    });
    expect(snippetAdvice({ client: 'claude', stdio: local })).toEqual([
      'Paste it into .mcp.json of your project, or claude_desktop_config.json.',
    ]);
  });

  test('a token of the environment goes on through the environment', () => {
    const stdio = { ...local, needsToken: true };
    expect(snippet([memory], { client: 'vscode', stdio })).toMatchObject({
      inputs: [{ id: 'emergent-token' }],
      servers: {
        memory: { type: 'stdio', env: { EMERGENT_TOKEN: '${input:emergent-token}' } },
      },
    });
  });

  test('a workspace, and all of Emergent', () => {
    const args = (made: object) => JSON.stringify(made);
    const options = { client: 'json', stdio: local } as const;
    expect(args(snippet([workspaceTarget(url, id)], options))).toContain(
      `"args":["mcp","stdio","--workspace","${id}"]`,
    );
    expect(args(snippet([wholeTarget(url)], options))).toContain('"args":["mcp","stdio"]');
  });
});
