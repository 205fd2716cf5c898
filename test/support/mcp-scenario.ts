import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { ScenarioServer } from '../scenarios/support.ts';
import { McpHosting } from './mcp-hosting.ts';
import { mcpImages } from './mcp-image.ts';
import type { McpImages } from './mcp-image.ts';
import { McpTraces } from './mcp-traces.ts';

/** The real server on real gVisor, with images to host and disks of its own; nothing stays when it is disposed of. */
export interface McpScenario extends AsyncDisposable {
  readonly server: ScenarioServer;
  readonly hosting: McpHosting;
  readonly images: McpImages;
  readonly traces: McpTraces;
}

export async function startMcpScenario(
  settings: Readonly<Record<string, string>> = {},
  docker = new Docker(),
): Promise<McpScenario> {
  await using starting = new AsyncDisposableStack();
  const images = await mcpImages();
  const diskDir = await mkdtemp(join(tmpdir(), 'emergent-mcp-disks-'));
  starting.defer(() => rm(diskDir, { recursive: true, force: true }));
  const server = starting.use(
    await ScenarioServer.start({ WORKSPACE_DISK_DIR: diskDir, ...settings }, docker),
  );
  const hosting = starting.use(new McpHosting(server));
  const traces = new McpTraces(docker, diskDir);
  const running = starting.move();
  return {
    ...{ server, hosting, images, traces },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
