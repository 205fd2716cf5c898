import type { Command } from 'commander';
import { ApiClient } from '../http/client.ts';
import { bashRequest, execOptions } from '../input/exec-options.ts';
import type { ExecOptions } from '../input/exec-options.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { collectVariable } from '../input/pairs.ts';
import { CollectedOutput } from '../remote/collected-output.ts';
import { execInWorkspace, exitCodeOf, toOwnOutput } from '../remote/exec.ts';
import { resolveId } from '../remote/ids.ts';
import { printJson } from '../terminal/output.ts';

export function define(command: Command): void {
  commonOptions(execOptions(command))
    .description('Run a command in a workspace; its output and its exit code become ours.')
    .argument('<id>', 'id of the workspace, or its first characters (at least 4)')
    .argument('<command...>', 'the command and its arguments, after --')
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

Examples:
  emergent exec 1f0c -- uname -r
  emergent exec 1f0c -- sh -c 'ls *.py | wc -l'
  emergent exec 1f0c --workdir /workspace/app --env CI=1 --timeout 10m -- npm test
  emergent exec 1f0c -- tar -cz . > workspace.tar.gz
  emergent exec 1f0c --json -- git status | jq -r .stdout`;

async function exec(
  text: string,
  argv: readonly string[],
  options: ExecOptions & CommonOptions,
): Promise<void> {
  const client = ApiClient.connect(options);
  const id = await resolveId(client, text);
  const request = bashRequest(argv, options);
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
