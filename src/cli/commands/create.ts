import type { Command } from 'commander';
import { ApiClient } from '../http/client.ts';
import type { Workspace } from '../http/api-types.ts';
import { createOptions, newWorkspace } from '../input/create-options.ts';
import type { CreateOptions } from '../input/create-options.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { createWorkspace } from '../remote/create-workspace.ts';
import { noteClone } from '../terminal/clone-result.ts';
import { warnOfIsolation } from '../terminal/isolation-warning.ts';
import { note, printJson, printLine } from '../terminal/output.ts';

export function define(command: Command): void {
  commonOptions(createOptions(command))
    .description('Create a workspace and print its id; everything else goes to standard error.')
    .option('--no-wait', 'do not wait until it is ready; `emergent get` tells how it goes on')
    .addHelpText(
      'after',
      `
Examples:
  id=$(emergent create)
  emergent create --provider gvisor --cpu 0.5 --memory 512M --disk 1G
  emergent create --image debian:12 --repo https://example.com/repository.git --branch main
  emergent create --network isolated --ttl 2h --env CI=1 --metadata task=build
  id=$(emergent create --no-wait)
  emergent create --json | jq -r .expires_at`,
    )
    .action(async () => {
      await create(command.optsWithGlobals());
    });
}

interface Options extends CreateOptions, CommonOptions {
  /** Set by --no-wait only. */
  readonly wait?: false;
}

async function create(options: Options): Promise<void> {
  const client = ApiClient.connect(options);
  const body = newWorkspace(options);
  const waits = options.wait !== false;
  const workspace = await (waits ? createWorkspace(client, body) : client.beginWorkspace(body));
  if (options.json === true) {
    await printJson(workspace);
  } else {
    note(`${waits ? 'created' : 'creating'}: ${summary(workspace)}`);
    warnOfIsolation(workspace);
    noteClone(workspace);
    await printLine(workspace.id);
  }
}

/** One line on what was created. */
export function summary({ provider, image, resource_limits, network }: Workspace): string {
  const { cpu, memory, disk } = resource_limits;
  return `${provider}, ${image}, ${String(cpu)} CPU, ${memory} memory, ${disk} disk, ${network}`;
}
