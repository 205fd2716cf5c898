import type { Command } from 'commander';
import { exitCodeOfSignal } from '../exit-codes.ts';
import { Failure, UsageFailure } from '../failure.ts';
import { ApiClient } from '../http/client.ts';
import type { McpServer } from '../http/mcp-types.ts';
import { addOptions, newMcpServer } from '../input/mcp-add-options.ts';
import type { AddOptions } from '../input/mcp-add-options.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { expectHealthy } from '../remote/mcp-health.ts';
import { registerMcpServer } from '../remote/mcp-register.ts';
import { allTools } from '../remote/mcp-tools.ts';
import { warnOfIsolation } from '../terminal/isolation-warning.ts';
import { stateOf } from '../terminal/mcp-lines.ts';
import { note, oneLine, printJson, printLine } from '../terminal/output.ts';
import { onSignals } from '../terminal/signals.ts';

export function defineAdd(command: Command): void {
  commonOptions(addOptions(command))
    .description('Host an MCP server and print its id; everything else goes to standard error.')
    .argument('<name>', 'what it is called from now on')
    .argument('[command...]', "its program and arguments, after -- (default: the image's own)")
    .usage('[options] <name> [-- <command...>]')
    .addHelpText('after', addHelp)
    .exitOverride((error) => {
      if (error.code !== 'commander.unknownOption') throw error;
      throw new UsageFailure(
        error.message.replace(/^error: /, ''),
        'See: emergent mcp add --help; options of the command itself go after --',
      );
    })
    .action(async (name: string, argv: string[]) => {
      await add(name, argv, command.optsWithGlobals());
    });
}

const addHelp = `
Needs the role admin. Its environment is kept encrypted and never shown again. The exit code is 1 if the server
does not answer: then its last lines and the reason are shown, and it stays as its restart policy says. Ctrl-C
goes away without waiting for it.

Examples:
  emergent mcp add time --image mcp/time
  emergent mcp add github --image ghcr.io/github/github-mcp-server --env GITHUB_PERSONAL_ACCESS_TOKEN \\
    --network nat -- stdio
  emergent mcp add memory --image node:24 --network nat --volume /data \\
    --env MEMORY_FILE_PATH=/data/memory.json -- npx -y @modelcontextprotocol/server-memory
  emergent mcp add web --image example/web-mcp --port 3000 --path /mcp`;

async function add(
  name: string,
  argv: readonly string[],
  options: AddOptions & CommonOptions,
): Promise<void> {
  const request = newMcpServer(name, argv, options);
  const client = ApiClient.connect(options);
  const left = new AbortController();
  using _signals = onSignals((signal) => {
    process.exitCode = exitCodeOfSignal(signal);
    left.abort();
  });
  let server: McpServer;
  try {
    server = await registerMcpServer(client, request, left.signal);
  } catch (error) {
    if (!left.signal.aborted) throw error;
    note(`what became of ${oneLine(name)} is shown by: emergent mcp list`);
    return;
  }
  await tell(client, server, options);
}

async function tell(client: ApiClient, server: McpServer, options: CommonOptions): Promise<void> {
  if (options.json === true) await printJson(server);
  else await printLine(server.id);
  await expectHealthy(client, server, options);
  if (options.json === true) return;
  warnOfIsolation(server);
  const tools = await toolCount(client, server);
  note(`added: ${oneLine(server.name)}, ${stateOf(server)}${tools}, ${oneLine(server.image)}`);
  note(`Connect a client: emergent mcp config ${oneLine(server.name)}`);
}

/** ", 13 tools"; a server that keeps its list to itself is hosted all the same. */
async function toolCount(client: ApiClient, { id, introduction }: McpServer): Promise<string> {
  if (introduction && !('tools' in introduction.capabilities)) return '';
  try {
    const { length } = await allTools(client.mcp, id);
    return length === 1 ? ', 1 tool' : `, ${String(length)} tools`;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return ` (its tools cannot be listed: ${oneLine(error.message)})`;
  }
}
