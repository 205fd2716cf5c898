import type { McpServer } from '../http/mcp-types.ts';
import type { SnippetTarget } from '../terminal/mcp-snippet.ts';

/**
 * A hosted server, by the name or the id that its user said: the name goes on to mean it when it is added anew, the id
 * tells it from one of another owner.
 */
export function serverTarget(
  url: string,
  { id, name }: Pick<McpServer, 'id' | 'name'>,
  said: string,
): SnippetTarget {
  const handle = said === id ? id : name;
  return {
    name: handle === id ? `${name}-${id.slice(0, 8)}` : name,
    url: `${url}/api/v1/mcp/servers/${encodeURIComponent(handle)}/mcp`,
    stdioArgs: ['mcp', 'stdio', '--server', handle],
  };
}

/** The tools of one workspace. */
export function workspaceTarget(url: string, id: string): SnippetTarget {
  return {
    name: `workspace-${id.slice(0, 8)}`,
    url: `${url}/api/v1/agent/workspaces/${encodeURIComponent(id)}/mcp`,
    stdioArgs: ['mcp', 'stdio', '--workspace', id],
  };
}

/** Our server itself: making workspaces, and the tools of all. */
export function wholeTarget(url: string): SnippetTarget {
  return { name: 'emergent', url: `${url}/api/v1/mcp`, stdioArgs: ['mcp', 'stdio'] };
}
