import type { Command } from 'commander';
import { ApiClient } from '../http/client.ts';
import { connection } from '../http/settings.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { serverTarget } from '../remote/mcp-targets.ts';
import { mcpFactLines } from '../terminal/mcp-lines.ts';
import { printJson, printLine } from '../terminal/output.ts';

export function defineGet(command: Command): void {
  commonOptions(command)
    .description('Show everything about one MCP server, except its environment.')
    .argument('<name>', 'name or id of the server')
    .addHelpText(
      'after',
      `
Examples:
  emergent mcp get memory
  emergent mcp get --json memory | jq .introduction`,
    )
    .action(async (name: string) => {
      const options = command.optsWithGlobals<CommonOptions>();
      const server = await ApiClient.connect(options).mcp.get(name);
      if (options.json === true) {
        await printJson(server);
        return;
      }
      const { url } = serverTarget(connection(process.env, options.url).url, server, name);
      await printLine(mcpFactLines(server, url).join('\n'));
    });
}
