import { Failure } from '../failure.ts';
import type { McpTool } from '../http/mcp-types.ts';
import type { McpClient } from '../http/mcp-client.ts';

const listMs = 60_000;
/** More come only from a server that never ends its list. */
const mostPages = 1000;

/** Every tool of a server, page by page. */
export async function allTools(client: McpClient, id: string): Promise<readonly McpTool[]> {
  const tools: McpTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const result = await client.call(id, {
      method: 'tools/list',
      params: cursor === undefined ? {} : { cursor },
      timeout_ms: listMs,
    });
    const { tools: some, nextCursor } = result;
    if (Array.isArray(some)) tools.push(...(some as McpTool[]));
    if (typeof nextCursor !== 'string' || nextCursor === '') return tools;
    cursor = nextCursor;
  }
  throw new Failure('mcp_error', `tools/list does not end: more than ${String(mostPages)} pages`);
}
