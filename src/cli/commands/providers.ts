import type { Command } from 'commander';
import { ApiClient } from '../http/client.ts';
import type { ProviderStatus } from '../http/api-types.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { oneLine, printJson, printLine } from '../terminal/output.ts';
import { styledState } from '../terminal/style.ts';
import { tableLines } from '../terminal/table.ts';
import type { Column } from '../terminal/table.ts';
import { defineExplain } from './providers-explain.ts';

export function define(command: Command): void {
  commonOptions(command)
    .description('Show what can run workspaces, its state, and what to do where it cannot.')
    .addHelpText(
      'after',
      `
Examples:
  emergent providers
  emergent providers explain
  emergent providers --json | jq '.providers[] | {name, status}'`,
    )
    .action(async () => {
      await providers(command.optsWithGlobals());
    });
  defineExplain(command.command('explain'));
}

const columns: readonly Column<ProviderStatus>[] = [
  { title: 'NAME', cell: (row) => row.name },
  {
    title: 'STATE',
    cell: (row) => row.status,
    style: (text, row) => styledState(row.status, text, process.stdout),
  },
  { title: 'ISOLATION', cell: (row) => row.capabilities?.isolation ?? '-' },
  { title: 'PLATFORM', cell: ({ details: { platform } }) => textOr(platform, '-') },
  { title: 'WORKSPACES', cell: (row) => String(row.active_workspaces) },
];

async function providers(options: CommonOptions): Promise<void> {
  const all = await ApiClient.connect(options).providers();
  if (options.json === true) {
    await printJson({ providers: all });
    return;
  }
  await printLine([...tableLines(columns, all), ...all.flatMap(explanation)].join('\n'));
}

/** Why a provider is not usable and what to do, or what it lacks, below the table. */
function explanation(row: ProviderStatus): string[] {
  const { name, reason, remedy, cooling_down: cooling, details } = row;
  const warnings = Object.entries(details).filter(([key]) => key.endsWith('_warning'));
  return [
    ...(reason === null ? [] : ['', `${oneLine(name)}: ${oneLine(reason)}`]),
    ...(remedy === null ? [] : [`  remedy: ${oneLine(remedy)}`]),
    ...(cooling === null ? [] : ['', `${oneLine(name)}: ${coolingText(cooling)}`]),
    ...warnings.map(([, text]) => `${oneLine(name)}: warning: ${textOr(text, '')}`),
  ];
}

function coolingText({ until, reason }: { until: string; reason: string }): string {
  return `failed a create and is passed over until ${oneLine(until)}: ${oneLine(reason)}`;
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? oneLine(value) : otherwise;
}
