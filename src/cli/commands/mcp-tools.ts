import type { Command } from 'commander';
import { ApiClient } from '../http/client.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { allTools } from '../remote/mcp-tools.ts';
import { toolLines } from '../terminal/mcp-tool-lines.ts';
import { printJson, printLine } from '../terminal/output.ts';

export function defineTools(command: Command): void {
  commonOptions(command)
    .description('List the tools of an MCP server, and the arguments that each takes.')
    .argument('<name>', 'name or id of the server')
    .addHelpText(
      'after',
      `
Arguments in brackets may be left out; those that are not text have their type behind a colon.

Examples:
  emergent mcp tools memory
  emergent mcp tools memory --json | jq '.tools[] | select(.name == "search_nodes")'`,
    )
    .action(async (name: string) => {
      const options = command.optsWithGlobals<CommonOptions>();
      const tools = await allTools(ApiClient.connect(options).mcp, name);
      if (options.json === true) await printJson({ tools });
      else await printLine(toolLines(tools).join('\n'));
    });
}
