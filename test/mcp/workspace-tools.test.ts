import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectTo, generations, useTool } from '../api/support/mcp.ts';
import type { AnyClient } from '../api/support/mcp.ts';
import { ScenarioServer } from '../scenarios/support.ts';
import { eventually } from '../support/eventually.ts';
import { hostingTimeout } from '../support/mcp-hosting.ts';

let server: ScenarioServer;
beforeAll(async () => {
  server = await ScenarioServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function stdoutOf(client: AnyClient, workspace_id: string, command: string): Promise<string> {
  const { structured, text } = await useTool(client, 'bash', { workspace_id, command });
  expect(structured, text).toMatchObject({ exit_code: 0 });
  return String(structured['stdout']);
}

/** What runs in the sandbox, as its own kernel tells it, once it is these. */
async function untilSleepers(
  client: AnyClient,
  workspace_id: string,
  expected: readonly string[],
): Promise<void> {
  const command =
    "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o 'sleep 98[76]' | sort -u";
  await eventually(async () => {
    const found = await stdoutOf(client, workspace_id, command);
    expect(found.split('\n').filter((line) => line !== '')).toEqual(expected);
  });
}

describe.each(generations)('a client of %s, on gVisor', hostingTimeout, (generation) => {
  test('makes a workspace, works in it, cancels what takes too long, and destroys it', async () => {
    await using client = await connectTo(generation, server, '/mcp');
    await client.listTools();
    const created = await useTool(client, 'create_workspace', { network: 'isolated' });
    expect(created.structured, created.text).toMatchObject({ status: 'ready', provider: 'gvisor' });
    const { id: workspace_id } = created.structured as { id: string };

    await useTool(client, 'write', {
      workspace_id,
      file_path: 'src/tea.txt',
      content: 'green\nblack\n',
    });
    await useTool(client, 'edit', {
      workspace_id,
      file_path: 'src/tea.txt',
      old_string: 'black',
      new_string: 'white',
    });
    const read = await useTool(client, 'read', { workspace_id, file_path: 'src/tea.txt' });
    expect(read.text).toBe('1: green\n2: white');
    const grep = await useTool(client, 'grep', { workspace_id, pattern: 'whi.e' });
    expect(grep.text).toBe('/workspace/src/tea.txt:2: white');
    const glob = await useTool(client, 'glob', { workspace_id, pattern: '**/*.txt' });
    expect(glob.text).toBe('/workspace/src/tea.txt');

    await stdoutOf(client, workspace_id, 'git init -q . && git add src');
    const author = { name: 'Ada', email: 'ada@example.org' };
    const commit = { workspace_id, message: 'Tea', author };
    const committed = await useTool(client, 'git_commit', commit);
    expect(committed.structured, committed.text).toMatchObject({ action: 'commit' });
    const status = await useTool(client, 'git_status', { workspace_id });
    expect(status.structured).toMatchObject({ clean: true });

    const cancel = new AbortController();
    const heard: string[] = [];
    const begun = Promise.withResolvers<void>();
    const running = useTool(
      client,
      'bash',
      { workspace_id, command: 'echo begun; sleep 987 & sleep 986' },
      {
        signal: cancel.signal,
        onprogress({ message = '' }) {
          heard.push(message);
          begun.resolve();
        },
      },
    );
    const ended = expect(running).rejects.toThrow();
    await begun.promise;
    expect(heard[0]).toBe('6 bytes: begun');
    await untilSleepers(client, workspace_id, ['sleep 986', 'sleep 987']);
    cancel.abort('no longer wanted');
    await ended;
    await untilSleepers(client, workspace_id, []);

    const started = await useTool(client, 'start_process', {
      workspace_id,
      command: 'echo up; sleep 987',
    });
    const { id: process_id } = started.structured as { id: string };
    const place = { workspace_id, process_id };
    const output = await useTool(client, 'process_output', { ...place, wait_ms: 60_000 });
    expect(output.structured).toMatchObject({ output: 'up\n', status: 'running' });
    await useTool(client, 'kill_process', { ...place, signal: 'SIGKILL' });
    await eventually(async () => {
      const { structured } = await useTool(client, 'process_output', { ...place });
      expect(structured).toMatchObject({ status: 'exited', exit_code: 137 });
    });

    const destroyed = await useTool(client, 'destroy_workspace', { workspace_id });
    expect(destroyed.isError, destroyed.text).toBe(false);
    const gone = await useTool(client, 'get_workspace', { workspace_id });
    expect(gone.text).toContain('workspace_not_found');
  });
});
