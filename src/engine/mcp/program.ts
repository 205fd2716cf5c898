import { EmergentError } from '../../domain/errors.ts';
import { mcpConfigOf } from '../../domain/mcp.ts';
import type { ImageProgram } from '../../domain/provider.ts';
import type { Workspace } from '../../domain/workspace.ts';

/** What is started in the sandbox of an MCP server. */
export interface Program {
  readonly argv: readonly [string, ...string[]];
  readonly workdir?: string;
}

/** Where the row's metadata hold what its image is made to run. */
const programKey = 'program';

/** For the metadata of a server whose sandbox has just been made of an image. */
export function programFacts(
  { containerType }: Workspace,
  program: ImageProgram | undefined,
): Readonly<Record<string, unknown>> {
  return containerType === 'mcp_server' && program ? { [programKey]: program } : {};
}

/**
 * The image's own entry point, arguments and working directory hold unless they were overridden, as an engine has it:
 * another command drops the image's arguments, other arguments keep its entry point.
 */
export function programOf(workspace: Workspace): Program {
  const config = mcpConfigOf(workspace);
  const image = workspace.metadata[programKey] as ImageProgram | undefined;
  const [program, ...args] =
    config.command === null
      ? [...(image?.entrypoint ?? []), ...(config.args ?? image?.command ?? [])]
      : [config.command, ...(config.args ?? [])];
  if (program === undefined) {
    throw new EmergentError(
      'no_program',
      `the image "${workspace.image}" names no program, and no command was given`,
    );
  }
  const workdir = config.workdir ?? image?.workdir ?? null;
  return { argv: [program, ...args], ...(workdir !== null && { workdir }) };
}
