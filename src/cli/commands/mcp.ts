import type { Command } from 'commander';
import { defineAdd } from './mcp-add.ts';
import { defineCall } from './mcp-call.ts';
import { defineChanges } from './mcp-change.ts';
import { defineConfig } from './mcp-config.ts';
import { defineGet } from './mcp-get.ts';
import { defineImport } from './mcp-import.ts';
import { defineList } from './mcp-list.ts';
import { defineLogs } from './mcp-logs.ts';
import { defineRemove } from './mcp-rm.ts';
import { defineStdio } from './mcp-stdio.ts';
import { defineTools } from './mcp-tools.ts';
import { defineVolumes } from './mcp-volumes.ts';

export function define(command: Command): void {
  command
    .description('Host MCP servers, each in a sandbox of its own, and connect clients to them.')
    .addHelpText(
      'after',
      `
A hosted server starts with Emergent, is started again when it crashes, and is shared by all its clients.
They reach it over HTTP (Streamable HTTP), or over standard input and output through \`emergent mcp stdio\`;
\`emergent mcp config\` prints what to paste into a client. A server goes by its name or its id.

Examples:
  emergent mcp add memory --image node:24 --network nat -- npx -y @modelcontextprotocol/server-memory
  emergent mcp import ~/.cursor/mcp.json
  emergent mcp list
  emergent mcp tools memory
  emergent mcp call memory search_nodes query=tea
  emergent mcp config memory --client claude > .mcp.json`,
    );
  defineAdd(command.command('add'));
  defineImport(command.command('import'));
  defineList(command.command('list'));
  defineGet(command.command('get'));
  defineTools(command.command('tools'));
  defineCall(command.command('call'));
  defineLogs(command.command('logs'));
  defineChanges(command);
  defineRemove(command.command('rm'));
  defineConfig(command.command('config'));
  defineStdio(command.command('stdio'));
  defineVolumes(command.command('volumes'));
}
