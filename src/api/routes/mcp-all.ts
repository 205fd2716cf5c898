import type { Api, ApiContext } from '../context.ts';
import type { McpCallCounts } from '../mcp/call-counts.ts';
import type { McpGateway } from '../mcp/gateway.ts';
import { refuseForeignOrigin } from '../mcp/origin.ts';
import type { PassOn } from '../mcp/pass-on.ts';
import { mcpChangeRoutes } from './mcp-changes.ts';
import { mcpGatewayRoutes } from './mcp-gateway.ts';
import { mcpServerRoutes } from './mcp-servers.ts';
import { mcpUseRoutes } from './mcp-use.ts';
import { mcpVolumeRoutes } from './mcp-volumes.ts';

export interface McpParts {
  readonly gateway: McpGateway;
  readonly calls: McpCallCounts;
  readonly passOn: PassOn;
}

/** Everything about hosted MCP servers. Those that another server of ours hosts are passed on before they come here. */
export async function mcpRoutes(
  api: Api,
  context: ApiContext,
  { gateway, calls, passOn }: McpParts,
): Promise<void> {
  mcpVolumeRoutes(api, context);
  await api.register(async (scope) => {
    scope.addHook('onRequest', passOn.hook);
    mcpServerRoutes(scope, context, gateway);
    mcpChangeRoutes(scope, context);
    mcpUseRoutes(scope, context, calls);
  });
  await api.register(async (scope) => {
    // First: which origins a browser's request may have depends on where it came in.
    scope.addHook('onRequest', async (request) => {
      refuseForeignOrigin(request);
    });
    scope.addHook('onRequest', passOn.hook);
    mcpGatewayRoutes(scope, gateway);
  });
}
