import type { Workspace } from '../http/api-types.ts';
import type { ApiClient } from '../http/client.ts';
import type { CommonOptions } from '../input/options.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { eachWorkspace } from './each-workspace.ts';

export interface ChangeOptions extends CommonOptions {
  readonly quiet?: boolean;
}

/** Changes the state of every workspace that is named, and prints the id of each that was. */
export async function changeWorkspaces(
  texts: readonly string[],
  options: ChangeOptions,
  change: (client: ApiClient, id: string) => Promise<Workspace>,
): Promise<void> {
  const items: Workspace[] = [];
  await eachWorkspace(texts, options, change, async (workspace) => {
    items.push(workspace);
    if (options.quiet !== true && options.json !== true) await printLine(workspace.id);
  });
  if (options.json === true) await printJson({ items });
}
