import { Option } from 'commander';
import type { Command } from 'commander';
import { ApiClient } from '../http/client.ts';
import type { Selection } from '../http/api-types.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { oneLine, printJson, printLine } from '../terminal/output.ts';
import { tableLines } from '../terminal/table.ts';
import type { Column } from '../terminal/table.ts';

interface ExplainOptions extends CommonOptions {
  readonly type?: string;
  readonly mode?: string;
  readonly provider?: string;
}

export function defineExplain(command: Command): void {
  commonOptions(command)
    .description(
      'Show which providers a create would try now, in which order, and why not the others.',
    )
    .addOption(
      new Option('--type <type>', 'what is to be created (default: agent_workspace)').choices([
        'agent_workspace',
        'mcp_server',
      ]),
    )
    .addOption(
      new Option('--mode <mode>', "deployment mode (default: the server's own)").choices([
        'self-hosted',
        'managed',
      ]),
    )
    .option('--provider <name>', 'as if it were asked for by name')
    .addHelpText(
      'after',
      `
Nothing is created.

Examples:
  emergent providers explain
  emergent providers explain --type mcp_server
  emergent providers explain --mode managed
  emergent providers explain --provider gvisor
  emergent providers explain --json | jq -r '.order[].name'`,
    )
    .action(async () => {
      await explain(command.optsWithGlobals());
    });
}

async function explain(options: ExplainOptions): Promise<void> {
  const { type, mode, provider } = options;
  const selection = await ApiClient.connect(options).explainSelection({
    ...(type !== undefined && { container_type: type }),
    ...(mode !== undefined && { deployment_mode: mode }),
    ...(provider !== undefined && { provider }),
  });
  if (options.json === true) await printJson(selection);
  else await printLine(explanation(selection).join('\n'));
}

interface Row {
  readonly place: string;
  readonly name: string;
  readonly why: string;
}

const columns: readonly Column<Row>[] = [
  { title: 'TRIED', cell: (row) => row.place },
  { title: 'PROVIDER', cell: (row) => row.name },
  { title: 'WHY', cell: (row) => row.why },
];

function explanation(selection: Selection): readonly string[] {
  const { order, left_out: leftOut, provider } = selection;
  const rows: readonly Row[] = [
    ...order.map(({ name, why }, index) => ({ place: `${String(index + 1)}.`, name, why })),
    ...leftOut.map(({ name, reason }) => ({ place: 'not', name, why: reason })),
  ];
  return [
    `For ${oneLine(selection.container_type)}, deployment mode ${oneLine(selection.deployment_mode)}:`,
    '',
    ...tableLines(columns, rows),
    ...(order.length === 0 ? ['', 'No provider can serve it now.'] : []),
    ...(provider === 'auto' ? [] : ['', `There is no fallback from ${oneLine(provider)}.`]),
  ];
}
