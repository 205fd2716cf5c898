import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { UsageFailure } from '../failure.ts';
import { ApiClient } from '../http/client.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { attach } from '../remote/attach.ts';
import { CollectedOutput } from '../remote/collected-output.ts';
import { toOwnOutput } from '../remote/exec.ts';
import { resolveId, resolveProcess } from '../remote/ids.ts';
import { printJson } from '../terminal/output.ts';

interface AttachOptions extends CommonOptions {
  readonly offset?: number;
  readonly tail?: number;
}

export function define(command: Command): void {
  commonOptions(command)
    .description('Show the output of a process, from its beginning, until it ends.')
    .argument('<id>', 'id of the workspace, or its first characters (at least 4)')
    .argument('<process>', 'id of the process, or its first characters (at least 4)')
    .option('--offset <bytes>', 'leave out so much of the output', bytes)
    .option('--tail <bytes>', 'begin so much before the end of what is there', bytes)
    .addHelpText(
      'after',
      `
Its exit code becomes ours. Ctrl-C leaves the process running. When the connection breaks or the server
restarts, the output goes on where it stopped, as soon as the server is back within a minute.

Examples:
  process=$(emergent exec --detach 1f0c -- npm test)
  emergent attach 1f0c $process
  emergent attach 1f0c 9a3e --tail 4096
  emergent attach 1f0c 9a3e --json | jq -r .stdout`,
    )
    .action(async (id: string, text: string) => {
      await attachTo(id, text, command.optsWithGlobals());
    });
}

async function attachTo(id: string, text: string, options: AttachOptions): Promise<void> {
  if (options.offset !== undefined && options.tail !== undefined) {
    throw new UsageFailure('--offset and --tail exclude each other', 'Leave one of them out.');
  }
  const client = ApiClient.connect(options);
  const workspaceId = await resolveId(client, id);
  const processId = await resolveProcess(client, workspaceId, text);
  const offset = await beginning(client, workspaceId, processId, options);
  const output = options.json === true ? new CollectedOutput() : undefined;
  const sink = output?.sink ?? toOwnOutput;
  const exit = await attach(client, { workspaceId, processId, offset }, sink, systemClock);
  const names = { workspace_id: workspaceId, process_id: processId };
  if (output) await printJson({ ...names, ...output.texts(), ...exit });
  process.exitCode = exit.exit_code;
}

async function beginning(
  client: ApiClient,
  workspaceId: string,
  processId: string,
  { offset, tail }: AttachOptions,
): Promise<number> {
  if (tail === undefined) return offset ?? 0;
  const { output_bytes: size } = await client.processes.get(workspaceId, processId);
  return Math.max(0, size - tail);
}

function bytes(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('Write a number of bytes.');
}
