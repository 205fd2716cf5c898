import type { Command } from 'commander';
import { Failure } from '../failure.ts';
import type { Workspace } from '../http/api-types.ts';
import { ApiClient } from '../http/client.ts';
import { createOptions, newWorkspace } from '../input/create-options.ts';
import type { CreateOptions } from '../input/create-options.ts';
import { bashRequest, execOptions } from '../input/exec-options.ts';
import type { ExecOptions } from '../input/exec-options.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { CollectedOutput } from '../remote/collected-output.ts';
import { execInWorkspace, exitCodeOf, toOwnOutput } from '../remote/exec.ts';
import { createForRun, destroyAfterRun } from '../remote/run-lifetime.ts';
import { noteClone } from '../terminal/clone-result.ts';
import { warnOfIsolation } from '../terminal/isolation-warning.ts';
import { note, printJson } from '../terminal/output.ts';
import { reportFailure } from '../terminal/report.ts';

interface RunOptions extends CreateOptions, ExecOptions, CommonOptions {
  readonly keep?: boolean;
}

export function define(command: Command): void {
  commonOptions(execOptions(createOptions(command)))
    .description('Create a workspace, run one command in it, destroy it.')
    .argument('<command...>', 'the command and its arguments, after --')
    .option('--keep', 'leave the workspace; its id goes to standard error')
    .usage('[options] -- <command...>')
    .addHelpText(
      'after',
      `
The workspace is destroyed also when the command fails and after Ctrl-C.

Examples:
  emergent run -- uname -r
  emergent run --network isolated --memory 512M -- python3 -c 'print(6 * 7)'
  emergent run --repo https://example.com/repository.git --branch main -- make test`,
    )
    .action(async (argv: string[]) => {
      await run(argv, command.optsWithGlobals());
    });
}

async function run(argv: readonly string[], options: RunOptions): Promise<void> {
  const client = ApiClient.connect(options);
  const workspace = await createForRun(client, newWorkspace(options));
  const { id } = workspace;
  // The variables were given to the workspace, and with it to every command in it.
  const { env: _, ...forCommand } = options;
  const running = runIn(client, workspace, argv, forCommand);
  const [outcome] = await Promise.allSettled([running]);
  if (options.keep === true) note(`kept: ${id}`);
  else await destroyThenTell(client, id, outcome, options);
  process.exitCode = await running;
}

/** Where both the command and the clean-up failed, both are told. */
async function destroyThenTell(
  client: ApiClient,
  id: string,
  outcome: PromiseSettledResult<number>,
  { json }: CommonOptions,
): Promise<void> {
  try {
    await destroyAfterRun(client, id);
  } catch (error) {
    const reason: unknown = outcome.status === 'rejected' ? outcome.reason : undefined;
    if (reason instanceof Failure) reportFailure(reason, json === true);
    throw error;
  }
}

async function runIn(
  client: ApiClient,
  workspace: Workspace,
  argv: readonly string[],
  options: Omit<RunOptions, 'env'>,
): Promise<number> {
  const { id } = workspace;
  warnOfIsolation(workspace);
  noteClone(workspace);
  const request = bashRequest(argv, options);
  const output = options.json === true ? new CollectedOutput() : undefined;
  const result = await execInWorkspace(client, id, request, output?.sink ?? toOwnOutput);
  if (output) await printJson({ workspace_id: id, ...output.texts(), ...result });
  return exitCodeOf(result, request.timeout_ms);
}
