import type { Command } from 'commander';
import { UsageFailure } from '../failure.ts';
import type { BashRequest } from '../http/api-types.ts';
import { ApiClient } from '../http/client.ts';
import { bashRequest, execOptions } from '../input/exec-options.ts';
import type { ExecOptions } from '../input/exec-options.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { collectVariable } from '../input/pairs.ts';
import { CollectedOutput } from '../remote/collected-output.ts';
import { execInWorkspace, exitCodeOf, toOwnOutput } from '../remote/exec.ts';
import { resolveId } from '../remote/ids.ts';
import { note, printJson, printLine } from '../terminal/output.ts';

export function define(command: Command): void {
  commonOptions(execOptions(command))
    .description('Run a command in a workspace; its output and its exit code become ours.')
    .argument('<id>', 'id of the workspace, or its first characters (at least 4)')
    .argument('<command...>', 'the command and its arguments, after --')
    .option('-d, --detach', 'start it, print the id of its process, and leave it running')
    .option('--env <name=value>', 'environment variable (repeatable)', collectVariable)
    .usage('[options] <id> -- <command...>')
    .addHelpText('after', execHelp)
    .action(async (id: string, argv: string[]) => {
      await exec(id, argv, command.optsWithGlobals());
    });
}

const execHelp = `
The arguments reach the command exactly as given; for pipes and variables start a shell. The command reads
an empty standard input. Ctrl-C goes to the command; twice ends it; three times stops waiting.

A detached command goes on when we, the connection and the server are gone: \`emergent attach\` shows its
output, \`emergent ps\` lists it, \`emergent kill\` ends it.

Examples:
  emergent exec 1f0c -- uname -r
  emergent exec 1f0c -- sh -c 'ls *.py | wc -l'
  emergent exec 1f0c --workdir /workspace/app --env CI=1 --timeout 10m -- npm test
  process=$(emergent exec -d 1f0c -- npm test) && emergent attach 1f0c $process
  emergent exec 1f0c -- tar -cz . > workspace.tar.gz
  emergent exec 1f0c --json -- git status | jq -r .stdout`;

interface Options extends ExecOptions, CommonOptions {
  readonly detach?: boolean;
}

async function exec(text: string, argv: readonly string[], options: Options): Promise<void> {
  if (options.detach === true && options.timeout !== undefined) {
    throw new UsageFailure(
      'a detached command has no timeout',
      'Leave out --timeout, or run the command with timeout(1).',
    );
  }
  const client = ApiClient.connect(options);
  const id = await resolveId(client, text);
  const request = bashRequest(argv, options);
  if (options.detach === true) {
    await start(client, id, request, options);
    return;
  }
  if (options.json === true) {
    const output = new CollectedOutput();
    const result = await execInWorkspace(client, id, request, output.sink);
    await printJson({ workspace_id: id, ...output.texts(), ...result });
    process.exitCode = exitCodeOf(result, request.timeout_ms);
  } else {
    const result = await execInWorkspace(client, id, request, toOwnOutput);
    process.exitCode = exitCodeOf(result, request.timeout_ms);
  }
}

async function start(
  client: ApiClient,
  id: string,
  { timeout_ms: _, ...request }: BashRequest,
  { json }: Options,
): Promise<void> {
  const started = await client.processes.start(id, request);
  if (json === true) {
    await printJson(started);
  } else {
    note(`started: to see its output: emergent attach ${id} ${started.id}`);
    await printLine(started.id);
  }
}
