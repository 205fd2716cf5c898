import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { ApiClient } from '../http/client.ts';
import type { Workspace } from '../http/api-types.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { resolveId } from '../remote/ids.ts';
import { oneLine, printJson, printLine } from '../terminal/output.ts';
import { styledState } from '../terminal/style.ts';
import { shortDuration, untilExpiry } from '../terminal/units.ts';

export function define(command: Command): void {
  commonOptions(command)
    .description('Show one workspace.')
    .argument('<id>', 'id of the workspace, or its first characters (at least 4)')
    .addHelpText(
      'after',
      `
Examples:
  emergent get 1f0c
  emergent get --json 1f0c | jq .metadata`,
    )
    .action(async (id: string) => {
      await get(id, command.optsWithGlobals());
    });
}

async function get(text: string, options: CommonOptions): Promise<void> {
  const client = ApiClient.connect(options);
  const workspace = await client.getWorkspace(await resolveId(client, text));
  if (options.json === true) await printJson(workspace);
  else await printLine(lines(workspace).join('\n'));
}

function lines(workspace: Workspace): string[] {
  const { cpu, memory, disk } = workspace.resource_limits;
  const { status, status_reason: reason, ttl_seconds: ttl } = workspace;
  const now = systemClock.now().getTime();
  const expiry = `${workspace.expires_at ?? ''} (${untilExpiry(workspace.expires_at, now)})`;
  const facts: [string, string][] = [
    ['id', workspace.id],
    ['status', styledState(status, status, process.stdout)],
    ...(reason === null ? [] : [['reason', oneLine(reason)] satisfies [string, string]]),
    ['provider', oneLine(workspace.provider)],
    ['image', oneLine(workspace.image)],
    ['limits', `${String(cpu)} CPU, ${memory} memory, ${disk} disk`],
    ['network', workspace.network],
    ['created', workspace.created_at],
    ['ready', workspace.ready_at ?? 'never yet'],
    ['last used', workspace.last_used_at],
    ['ttl', ttl === null ? 'none' : `${shortDuration(ttl * 1000)} after the last use`],
    ['expires', workspace.expires_at === null ? 'never' : expiry],
    ...Object.entries(workspace.metadata).map(([key, value]): [string, string] => [
      `metadata.${oneLine(key)}`,
      oneLine(typeof value === 'string' ? value : JSON.stringify(value)),
    ]),
  ];
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
}
