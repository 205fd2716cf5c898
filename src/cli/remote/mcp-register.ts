import type { ApiClient } from '../http/client.ts';
import type { McpServer, NewMcpServer } from '../http/mcp-types.ts';
import { StatusLine } from '../terminal/status-line.ts';
import { tellingProgress } from './create-workspace.ts';

/** Registers a server, and tells on standard error what takes long about it. */
export async function registerMcpServer(
  client: ApiClient,
  server: NewMcpServer,
  signal: AbortSignal,
): Promise<McpServer> {
  using line = new StatusLine();
  // A script has no use for it.
  if (process.stderr.isTTY) line.show(`starting ${server.name}`);
  return await tellingProgress(
    client,
    line,
    // Another create of the same image waits for the same pull.
    ({ step, image, message }) =>
      step === 'pulling_image' && image === server.image && typeof message === 'string'
        ? message
        : undefined,
    () => client.mcp.register(server, signal),
  );
}
