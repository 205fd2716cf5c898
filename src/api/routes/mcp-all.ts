import type { Api, ApiContext } from '../context.ts';
import type { McpCallCounts } from '../mcp/call-counts.ts';
import type { McpGateway } from '../mcp/gateway.ts';
import { mcpChangeRoutes } from './mcp-changes.ts';
import { mcpGatewayRoutes } from './mcp-gateway.ts';
import { mcpServerRoutes } from './mcp-servers.ts';
import { mcpUseRoutes } from './mcp-use.ts';
import { mcpVolumeRoutes } from './mcp-volumes.ts';

/** Everything about hosted MCP servers. */
export async function mcpRoutes(
  api: Api,
  context: ApiContext,
  gateway: McpGateway,
  calls: McpCallCounts,
): Promise<void> {
  mcpServerRoutes(api, context, gateway);
  mcpChangeRoutes(api, context);
  mcpUseRoutes(api, context, calls);
  mcpVolumeRoutes(api, context);
  await api.register(async (scope) => {
    mcpGatewayRoutes(scope, gateway);
  });
}
