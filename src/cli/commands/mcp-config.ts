import { accessSync, constants } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { Option } from 'commander';
import type { Command } from 'commander';
import { UsageFailure } from '../failure.ts';
import { ApiClient } from '../http/client.ts';
import { connection } from '../http/settings.ts';
import type { Connection } from '../http/settings.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { resolveId } from '../remote/ids.ts';
import { serverTarget, wholeTarget, workspaceTarget } from '../remote/mcp-targets.ts';
import { snippet, snippetAdvice, snippetClients } from '../terminal/mcp-snippet.ts';
import type {
  SnippetClient,
  SnippetOptions,
  SnippetTarget,
  StdioCommand,
} from '../terminal/mcp-snippet.ts';
import { note, printJson } from '../terminal/output.ts';

interface ConfigOptions extends CommonOptions {
  readonly workspace?: string;
  readonly all?: boolean;
  readonly client: SnippetClient;
  readonly stdio?: boolean;
  readonly showToken?: boolean;
}

export function defineConfig(command: Command): void {
  commonOptions(command)
    .description('Print what to paste into an MCP client, so that it finds servers hosted here.')
    .argument('[name...]', 'names or ids of servers (default: Emergent itself, as an MCP server)')
    .option('--all', 'every hosted server')
    .option('--workspace <id>', 'the tools of this workspace instead')
    .addOption(
      new Option('--client <client>', 'whose settings; json suits most')
        .choices(snippetClients)
        .default('json'),
    )
    .option('--stdio', 'for clients that start a program: through `emergent mcp stdio`')
    .option('--show-token', 'with your token in it, instead of a placeholder')
    .addHelpText('after', configHelp)
    .action(async (names: string[]) => {
      await config(names, command.optsWithGlobals());
    });
}

const configHelp = `
Without a name it is Emergent itself: its tools make workspaces and work in them. The snippet goes to standard
output, what to do with it to standard error.

Examples:
  emergent mcp config memory
  emergent mcp config memory everything --client claude > .mcp.json
  emergent mcp config --all --client vscode > .vscode/mcp.json
  emergent mcp config --workspace 1f0c --client cursor
  emergent mcp config memory --stdio`;

async function config(names: readonly string[], options: ConfigOptions): Promise<void> {
  const way = connection(process.env, options.url);
  const targets = await targetsOf(names, way.url, options);
  const wanted: SnippetOptions = {
    client: options.client,
    ...(options.stdio === true && { stdio: stdioCommand(way, options.showToken === true) }),
    ...(options.showToken === true && { token: way.token }),
  };
  await printJson(snippet(targets, wanted));
  for (const line of snippetAdvice(wanted)) note(line);
}

async function targetsOf(
  names: readonly string[],
  url: string,
  options: ConfigOptions,
): Promise<readonly SnippetTarget[]> {
  const { workspace, all } = options;
  if ([names.length > 0, workspace !== undefined, all === true].filter(Boolean).length > 1) {
    throw new UsageFailure(
      'names, --workspace and --all exclude each other',
      'See: emergent mcp config --help',
    );
  }
  const client = ApiClient.connect(options);
  if (workspace !== undefined) {
    const { id } = await client.getWorkspace(await resolveId(client, workspace));
    return [workspaceTarget(url, id)];
  }
  if (all === true) {
    const servers = await client.mcp.list();
    return servers.map((server) => serverTarget(url, server, saidOf(server, servers)));
  }
  if (names.length === 0) return [wholeTarget(url)];
  return Promise.all(
    names.map(async (name) => serverTarget(url, await client.mcp.get(name), name)),
  );
}

interface Named {
  readonly id: string;
  readonly name: string;
}

/** The name where it tells the server from the others. */
function saidOf({ id, name }: Named, servers: readonly Named[]): string {
  return servers.some((other) => other.name === name && other.id !== id) ? id : name;
}

/** It finds the server as this command did; a token that lies in a file is found there again. */
function stdioCommand({ url, tokenSource }: Connection, showToken: boolean): StdioCommand {
  const dataDir = process.env['EMERGENT_DATA_DIR'];
  const needsToken = showToken || tokenSource === 'EMERGENT_TOKEN';
  return {
    command: isOnPath('emergent') ? 'emergent' : ownPath,
    env: {
      EMERGENT_URL: url,
      ...(!needsToken && dataDir && { EMERGENT_DATA_DIR: resolve(dataDir) }),
    },
    needsToken,
  };
}

const ownPath = resolve(import.meta.dirname, '../../../emergent');

function isOnPath(name: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, name), constants.X_OK);
      return directory !== '';
    } catch {
      return false;
    }
  });
}
