import { describe, expect, test } from 'vitest';
import { parseLooseJson } from '../../../src/cli/input/mcp-json.ts';
import { planOf } from '../../../src/cli/input/mcp-import-plan.ts';
import type { Plan } from '../../../src/cli/input/mcp-import-plan.ts';
import { acceptableName } from '../../../src/cli/input/mcp-name.ts';
import { settingsEntries } from '../../../src/cli/input/mcp-settings-file.ts';

const variables = { TOKEN: 'secret', EMPTY: '' };

function plan(value: Readonly<Record<string, unknown>>, name = 'one', image?: string): Plan {
  return planOf({ name, value }, { image, variables, file: '/settings/mcp.json' });
}

describe('the settings file', () => {
  const servers = { a: { command: 'x' }, b: { url: 'http://x' } };
  const entries = [
    { name: 'a', value: { command: 'x' } },
    { name: 'b', value: { url: 'http://x' } },
  ];

  test.for([{ mcpServers: servers }, { servers }, { mcp: { servers }, other: 1 }])(
    '%j',
    (settings) => {
      expect(settingsEntries(JSON.stringify(settings), 'f')).toEqual(entries);
    },
  );

  test('comments, trailing commas and a byte order mark; not what only looks like them', () => {
    const text = `\uFEFF// mine
      { "a": "http://x/*no*/", /* two
      lines */ "b": [1, 2,], "c": "say \\"//hi\\" ,]", }`;
    expect(parseLooseJson(text)).toEqual({
      a: 'http://x/*no*/',
      b: [1, 2],
      c: 'say "//hi" ,]',
    });
  });

  test.for<[string, RegExp]>([
    ['{"a":', /^f is not JSON: /],
    ['{"a":1}', /^f lists no MCP servers$/],
    ['[]', /^f lists no MCP servers$/],
    ['{"mcpServers":[]}', /^f lists no MCP servers$/],
  ])('%s is refused', ([text, reason]) => {
    expect(() => settingsEntries(text, 'f')).toThrow(reason);
  });
});

describe('an entry', () => {
  test.for<[Readonly<Record<string, unknown>>, object]>([
    [
      { command: 'npx', args: ['-y', 'pkg'], env: { KEY: '${TOKEN}', N: 1 } },
      { command: 'npx', args: ['-y', 'pkg'], env: { KEY: 'secret', N: '1' }, network: 'nat' },
    ],
    [
      { command: 'uvx', args: [] },
      { command: 'uvx', network: 'nat' },
    ],
    [
      { type: 'stdio', command: 'node', args: ['x', '--key=${env:TOKEN}', '${NONE:-dflt}'] },
      { command: 'node', args: ['x', '--key=secret', 'dflt'], network: 'nat' },
    ],
    [
      { command: 'cmd', args: ['/c', 'npx', '-y', 'pkg'] },
      { command: 'npx', args: ['-y', 'pkg'], network: 'nat' },
    ],
    [
      { command: 'C:\\Program Files\\nodejs\\npx.cmd', args: ['pkg'] },
      { command: 'npx', args: ['pkg'], network: 'nat' },
    ],
    [
      { command: 'x', env: { A: '${EMPTY}' } },
      { command: 'x', env: { A: '' }, network: 'nat' },
    ],
    [
      {
        command: '/usr/local/bin/docker',
        args: ['run', '-i', '-e', 'KEY', 'img'],
        env: { KEY: 'k' },
      },
      { image: 'img', env: { KEY: 'k' }, network: 'nat' },
    ],
    [
      {
        command: 'docker.exe',
        args: ['container', 'run', '-i', 'img', '${TOKEN}'],
        env: { KEY: 'k' },
      },
      { image: 'img', args: ['secret'], network: 'nat' },
    ],
  ])('%j', ([value, server]) => {
    expect(plan(value)).toEqual({
      ...{ kind: 'add', name: 'one', notes: [] },
      server: { name: 'one', ...server },
    });
  });

  test('programs without an image run in the one that is asked for, others in their own', () => {
    expect(plan({ command: 'npx' }, 'one', 'node:24')).toMatchObject({
      server: { image: 'node:24' },
    });
    const docker = plan({ command: 'docker', args: ['run', 'img'] }, 'one', 'node:24');
    expect(docker).toMatchObject({ server: { image: 'img' } });
  });

  test('a name that would be refused becomes one that is not, and that is said', () => {
    expect(plan({ command: 'x' }, 'My Server!')).toMatchObject({
      name: 'my-server',
      server: { name: 'my-server' },
      notes: ['"My Server!" is called my-server here'],
    });
  });

  test('a folder of this machine is said to be left out', () => {
    expect(plan({ command: 'x', cwd: '/home/me' })).toMatchObject({
      notes: ['its cwd is a folder of this machine, and left out'],
    });
  });

  test.for<[Readonly<Record<string, unknown>>, string]>([
    [{ url: 'https://x/mcp' }, 'it is reached at a URL already'],
    [{ type: 'http', url: 'https://x/mcp' }, 'it is reached at a URL already'],
    [{ serverUrl: 'https://x/sse' }, 'it is reached at a URL already'],
    [{ command: 'x', disabled: true }, 'it is switched off there'],
  ])('%j is skipped', ([value, reason]) => {
    expect(plan(value)).toEqual({ kind: 'skip', name: 'one', reason });
  });

  test.for<[Readonly<Record<string, unknown>>, RegExp]>([
    [{}, /^it has no command$/],
    [{ command: 'x', args: 'y' }, /^its args are not a list of strings$/],
    [{ command: 'x', env: { A: {} } }, /^its variable A is not text$/],
    [{ command: 'x', env: { A: '${MISSING}' } }, /^MISSING is not set here: export it/],
    [{ command: 'x', args: ['${input:key}'] }, /^\$\{input:key\} is asked for by the editor/],
    [{ command: 'x', args: ['${workspaceFolder}/a'] }, /^\$\{workspaceFolder\} means something on/],
    [
      { command: 'docker', args: ['mcp', 'gateway'] },
      /^`docker mcp gateway` is not a `docker run`/,
    ],
    [{ command: 'docker', args: ['run', '-v', '/a:/b', 'i'] }, /mounts a folder of the host/],
    [{ command: 'x', envFile: 'none.env' }, /^the file \/settings\/none\.env cannot be read/],
  ])('%j is refused with the reason', ([value, reason]) => {
    expect(plan(value)).toEqual({
      kind: 'refuse',
      name: 'one',
      reason: expect.stringMatching(reason) as string,
    });
  });
});

test.for<[string, string]>([
  ['memory', 'memory'],
  ['Sequential Thinking', 'sequential-thinking'],
  ['@scope/Server_1.2', 'scope-server_1.2'],
  ['résumé', 'resume'],
  ['…', 'server'],
  [
    `${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}`,
    `server-${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}`,
  ],
  ['x'.repeat(100), 'x'.repeat(63)],
])('the name %s', ([given, accepted]) => {
  expect(acceptableName(given)).toBe(accepted);
});
