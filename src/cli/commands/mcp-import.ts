import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { exitCodeOfSignal, exitCodes } from '../exit-codes.ts';
import { Failure, systemCode, UsageFailure } from '../failure.ts';
import { ApiClient } from '../http/client.ts';
import { planOf } from '../input/mcp-import-plan.ts';
import type { Plan } from '../input/mcp-import-plan.ts';
import { settingsEntries } from '../input/mcp-settings-file.ts';
import type { SettingsEntry } from '../input/mcp-settings-file.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { importServers } from '../remote/mcp-import.ts';
import type { Imported } from '../remote/mcp-import.ts';
import { addLine } from '../terminal/mcp-add-line.ts';
import { note, oneLine, printJson, printLine } from '../terminal/output.ts';
import { onSignals } from '../terminal/signals.ts';
import { styledState } from '../terminal/style.ts';
import { tableLines } from '../terminal/table.ts';
import type { Column } from '../terminal/table.ts';

interface Options extends CommonOptions {
  readonly image?: string;
  readonly dryRun?: boolean;
  readonly replace?: boolean;
}

export function defineImport(command: Command): void {
  commonOptions(command)
    .description('Host the MCP servers that the settings of a desktop client list.')
    .argument('<file>', 'with "mcpServers", or "servers" of VS Code; - for standard input')
    .argument('[name...]', 'only these of them')
    .option('--image <image>', 'for those that bring none, such as npx, uvx, node and python')
    .option('--dry-run', 'only say what would be done')
    .option('--replace', 'servers of the same name make way; files in their volumes stay')
    .addHelpText('after', importHelp)
    .action(async (file: string, names: string[]) => {
      await importFile(file, names, command.optsWithGlobals());
    });
}

const importHelp = `
\`docker run … IMAGE …\` becomes a server of that image: its environment, named volumes, network, entry point, working
directory and limits are kept. Any other command runs in --image (default: that of this server) and may reach the
internet. Servers with a URL are left alone. \${NAME} and \${env:NAME} are filled in from the environment. The exit
code is 1 if one failed; the others are there all the same.

Examples:
  emergent mcp import --dry-run ~/.cursor/mcp.json
  emergent mcp import ~/.config/Claude/claude_desktop_config.json github memory
  emergent mcp import .vscode/mcp.json --image node:24 --replace`;

async function importFile(file: string, names: readonly string[], options: Options): Promise<void> {
  const plans = plansOf(await readSettings(file), file, names, options);
  const left = new AbortController();
  using _signals = onSignals((signal) => {
    process.exitCode = exitCodeOfSignal(signal);
    left.abort();
  });
  const done: Imported[] = [];
  try {
    const wanted = { replace: options.replace === true, dryRun: options.dryRun === true };
    const all = importServers(ApiClient.connect(options), plans, {
      ...wanted,
      signal: left.signal,
    });
    for await (const one of all) done.push(one);
  } catch (error) {
    if (!left.signal.aborted) throw error;
    note('interrupted; what became of the last one is shown by: emergent mcp list');
  }
  if (done.some(({ result }) => result === 'failed')) process.exitCode ??= exitCodes.failure;
  if (options.json === true) await printJson({ items: done });
  else await show(done, plans, options);
}

async function readSettings(file: string): Promise<string> {
  if (file === '-') return text(process.stdin);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new Failure(
      'file_unreadable',
      `${file} cannot be read (${systemCode(error) ?? 'error'})`,
      {
        hint: "Name the file that holds the client's MCP servers.",
        cause: error,
      },
    );
  }
}

function plansOf(
  settings: string,
  file: string,
  names: readonly string[],
  { image }: Options,
): readonly Plan[] {
  const entries = settingsEntries(settings, file);
  const has = (name: string): boolean => entries.some((entry) => entry.name === name);
  const unknown = names.filter((name) => !has(name));
  if (unknown.length > 0) {
    throw new UsageFailure(
      `${file} has no server ${unknown.join(', ')}`,
      `It has: ${entries.map(({ name }) => name).join(', ') || 'none'}.`,
    );
  }
  const wanted = ({ name }: SettingsEntry): boolean => names.length === 0 || names.includes(name);
  const options = { image, variables: process.env, file };
  return entries.filter(wanted).map((entry) => planOf(entry, options));
}

const columns: readonly Column<Imported>[] = [
  { title: 'NAME', cell: (row) => row.name },
  {
    title: 'RESULT',
    cell: (row) => row.result,
    style: (cell, { result }) => styledState(states[result], cell, process.stdout),
  },
  { title: 'IMAGE', cell: (row) => row.image ?? '-' },
  { title: 'WHY', cell: (row) => row.reason ?? '' },
];

const states: Readonly<Record<Imported['result'], string>> = {
  added: 'done',
  replaced: 'done',
  'would add': 'planned',
  'would replace': 'planned',
  skipped: 'skipped',
  failed: 'failed',
};

async function show(
  done: readonly Imported[],
  plans: readonly Plan[],
  { dryRun }: Options,
): Promise<void> {
  for (const { name, notes } of done) {
    for (const each of notes) note(oneLine(`${name}: ${each}`));
  }
  const lines = tableLines(columns, done).map((line) => line.trimEnd());
  if (dryRun === true) {
    const planned = new Set(
      done.filter(({ result }) => result.startsWith('would')).map(({ name }) => name),
    );
    const servers = plans.flatMap((plan) =>
      plan.kind === 'add' && planned.has(plan.name) ? [plan.server] : [],
    );
    lines.push(...servers.map((server) => oneLine(addLine(server))));
  }
  await printLine(lines.join('\n'));
}
