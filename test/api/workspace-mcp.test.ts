import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { Client } from './support/client.ts';
import { connectTo, generations, useTool } from './support/mcp.ts';
import { openTestStore, startServer } from './support/server.ts';
import type { TestServer, TestStore } from './support/server.ts';

let store: TestStore;
let server: TestServer;
let agent: Client;
beforeAll(async () => {
  store = await openTestStore();
  server = await startServer(store);
  agent = await server.newClient('agent');
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const workspaceTools = [
  ...['bash', 'read', 'write', 'edit', 'glob', 'grep'],
  ...['git_status', 'git_diff', 'git_commit', 'git_checkout', 'git_pull', 'git_push'],
  ...['start_process', 'process_output', 'list_processes', 'kill_process'],
];

const lifecycleTools = [
  ...['create_workspace', 'list_workspaces', 'get_workspace', 'stop_workspace'],
  ...['resume_workspace', 'recover_workspace', 'destroy_workspace'],
];

interface Process {
  readonly id: string;
  readonly status: string;
  readonly command: string;
}

async function processesOf(id: string): Promise<readonly Process[]> {
  const path = `/api/v1/agent/workspaces/${id}/processes`;
  return (await agent.json<{ items: readonly Process[] }>(200, 'GET', path)).items;
}

describe.each(generations)('a client of %s', (generation) => {
  test('finds the tools of a workspace, described and typed', async () => {
    const id = await server.newWorkspace(agent);
    await using client = await connectTo(generation, agent, `/agent/workspaces/${id}/mcp`);
    expect(client.getInstructions()).toContain('/workspace');
    expect(client.getServerVersion()).toMatchObject({
      name: 'emergent-workspaces',
      version: '1.2.3',
    });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(workspaceTools);
    for (const tool of tools) {
      expect(tool.title, tool.name).toMatch(/^[A-Z]/);
      expect(tool.description, tool.name).toMatch(/\.$/);
      expect(tool.annotations, tool.name).toHaveProperty('readOnlyHint');
      expect(tool.inputSchema, tool.name).toMatchObject({
        type: 'object',
        additionalProperties: false,
      });
      // Services that models run behind refuse a choice at the root.
      expect(Object.keys(tool.inputSchema), tool.name).not.toContain('oneOf');
      expect(JSON.stringify(tool.inputSchema), tool.name).not.toContain('"pattern":"^');
      expect(tool.outputSchema, tool.name).toMatchObject({ type: 'object' });
    }
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    expect(byName.get('bash')?.inputSchema.required).toEqual(['command']);
    expect(byName.get('git_commit')?.inputSchema.properties).not.toHaveProperty('action');
  });

  test('works in a workspace', async () => {
    const id = await server.newWorkspace(agent);
    await using client = await connectTo(generation, agent, `/agent/workspaces/${id}/mcp`);
    // The clients hold structured answers against the schemas that they know from the list.
    await client.listTools();

    const ran = await useTool(client, 'bash', { command: 'echo out; echo err >&2; exit 3' });
    expect(ran).toMatchObject({
      isError: false,
      structured: { stdout: 'out\n', stderr: 'err\n', exit_code: 3, timed_out: false },
      text: 'out\n[stderr]\nerr\n[exit code 3]',
    });

    const path = 'notes/one.txt';
    const written = await useTool(client, 'write', { file_path: path, content: 'tea\ncoffee\n' });
    expect(written.structured).toMatchObject({ created: true, size: 11 });
    const edited = await useTool(client, 'edit', {
      file_path: path,
      old_string: 'coffee',
      new_string: 'cocoa',
    });
    expect(edited.structured).toMatchObject({ replacements: 1 });
    const found = await useTool(client, 'read', { file_path: path });
    expect(found).toMatchObject({ text: '1: tea\n2: cocoa', structured: { kind: 'text' } });
    expect((await useTool(client, 'read', { file_path: '.' })).text).toContain('notes/');
  });

  test('reads the output of a process that goes on, and ends it', async () => {
    const id = await server.newWorkspace(agent);
    await using client = await connectTo(generation, agent, `/agent/workspaces/${id}/mcp`);
    const command = 'echo first; cat fifo; echo last; sleep 1000';
    await useTool(client, 'bash', { command: 'mkfifo fifo' });
    const started = await useTool(client, 'start_process', { command });
    const { id: process_id } = started.structured as { id: string };
    const first = await useTool(client, 'process_output', { process_id, wait_ms: 60_000 });
    expect(first.structured).toMatchObject({ output: 'first\n', status: 'running' });
    const { next_offset: offset } = first.structured;
    const second = useTool(client, 'process_output', { process_id, offset, wait_ms: 60_000 });
    await useTool(client, 'bash', { command: 'echo second > fifo' });
    expect((await second).text).toContain('second');
    const { structured: listed } = await useTool(client, 'list_processes');
    expect(listed['items']).toContainEqual(
      expect.objectContaining({ id: process_id, status: 'running' }),
    );
    await useTool(client, 'kill_process', { process_id });
    await eventually(async () => {
      const { structured } = await useTool(client, 'process_output', { process_id });
      expect(structured).toMatchObject({ status: 'exited', signal: 'SIGTERM' });
    });
  });

  test('hears of progress, the last line of it', async () => {
    const id = await server.newWorkspace(agent);
    await using client = await connectTo(generation, agent, `/agent/workspaces/${id}/mcp`);
    const heard: { progress: number; message?: string | undefined }[] = [];
    await useTool(client, 'bash', { command: 'mkfifo gate' });
    const told = Promise.withResolvers<void>();
    const running = useTool(
      client,
      'bash',
      { command: 'echo one; cat gate; echo two' },
      {
        onprogress(progress) {
          heard.push(progress);
          told.resolve();
        },
      },
    );
    await told.promise;
    await useTool(client, 'bash', { command: 'echo go > gate' });
    expect((await running).structured).toMatchObject({ stdout: 'one\ngo\ntwo\n' });
    expect(heard[0]?.message).toBe('4 bytes: one');
    const values = heard.map(({ progress }) => progress);
    expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));
  });

  test.each(['cancels', 'hangs up'])('that %s ends the command', async (how) => {
    const id = await server.newWorkspace(agent);
    await using client = await connectTo(generation, agent, `/agent/workspaces/${id}/mcp`);
    const cancel = new AbortController();
    const begun = Promise.withResolvers<void>();
    const command = 'echo begun; sleep 1000 & sleep 1000; echo end';
    const running = useTool(
      client,
      'bash',
      { command },
      {
        signal: cancel.signal,
        onprogress: () => {
          begun.resolve();
        },
      },
    );
    const ended = expect(running).rejects.toThrow();
    await begun.promise;
    expect((await processesOf(id)).at(-1)).toMatchObject({ status: 'running' });
    if (how === 'cancels') cancel.abort('no longer wanted');
    else await client.close();
    await ended;
    await eventually(async () => {
      expect((await processesOf(id)).at(-1)).toMatchObject({ command, status: 'exited' });
    });
    await eventually(() => {
      expect(server.engine.operationsInFlight).toBe(0);
    });
  });

  test('is told of a failure as a model can read it', async () => {
    const id = await server.newWorkspace(agent);
    await using client = await connectTo(generation, agent, `/agent/workspaces/${id}/mcp`);
    const missing = await useTool(client, 'read', { file_path: 'nothing.txt' });
    expect(missing).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^file_not_found: .*\nHint: /) as string,
      meta: { 'dev.emergent/error': { code: 'file_not_found' } },
    });
    const wrong = await useTool(client, 'bash', { command: 'true', comand: 'x' });
    expect(wrong).toMatchObject({ isError: true });
    expect(wrong.text).toContain('comand');
    const ref = await useTool(client, 'git_checkout', {});
    expect(ref).toMatchObject({ isError: true });
    expect(ref.text).toContain('ref: is needed');
    await expect(useTool(client, 'tea', {})).rejects.toThrow(/tea/);

    await agent.json(200, 'POST', `/api/v1/agent/workspaces/${id}/stop`);
    const stopped = await useTool(client, 'bash', { command: 'true' });
    expect(stopped).toMatchObject({ isError: true });
    expect(stopped.text).toContain('wrong_state');
  });

  test('makes a workspace, works in it and destroys it', async () => {
    await using client = await connectTo(generation, agent, '/mcp');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([...lifecycleTools, ...workspaceTools]);
    const created = await useTool(client, 'create_workspace', { metadata: { for: 'a test' } });
    expect(created.structured).toMatchObject({ status: 'ready', metadata: { for: 'a test' } });
    const { id: workspace_id } = created.structured as { id: string };
    const ran = await useTool(client, 'bash', { workspace_id, command: 'pwd' });
    expect(ran.structured).toMatchObject({ exit_code: 0 });
    const stopped = await useTool(client, 'stop_workspace', { workspace_id });
    expect(stopped.structured).toMatchObject({ status: 'stopped' });
    const resumed = await useTool(client, 'resume_workspace', { workspace_id });
    expect(resumed.structured).toMatchObject({ status: 'ready' });
    const listed = await useTool(client, 'list_workspaces', { status: 'ready', limit: 200 });
    expect(listed.text).toContain(workspace_id);
    expect((await useTool(client, 'get_workspace', { workspace_id })).structured).toMatchObject({
      id: workspace_id,
    });
    await useTool(client, 'destroy_workspace', { workspace_id });
    const gone = await useTool(client, 'bash', { workspace_id, command: 'true' });
    expect(gone).toMatchObject({ isError: true });
    expect(gone.text).toContain('workspace_not_found');
  });

  test("does not see another's workspace", async () => {
    const other = await server.newClient('agent');
    const workspace_id = await server.newWorkspace(agent);
    await using client = await connectTo(generation, other, '/mcp');
    const refused = await useTool(client, 'bash', { workspace_id, command: 'true' });
    expect(refused.text).toContain('workspace_not_found');
    expect((await useTool(client, 'list_workspaces')).structured).toMatchObject({ items: [] });
    await expect(
      connectTo(generation, other, `/agent/workspaces/${workspace_id}/mcp`),
    ).rejects.toThrow();
  });
});
