import { EmergentError } from '../../domain/errors.ts';
import { isMissingProgram } from '../../domain/missing-program.ts';
import type { Workspace } from '../../domain/workspace.ts';

/** What may run a command line, best first. */
const [bash, plain] = ['/bin/bash', '/bin/sh'] as const;

/** Runs something with the best shell of the workspace's image; one without any is `no_shell`. */
export async function withShell<T>(
  { image }: Pick<Workspace, 'image'>,
  run: (shell: string) => Promise<T>,
): Promise<T> {
  try {
    return await run(bash);
  } catch (error) {
    if (!isMissingProgram(error)) throw error;
  }
  try {
    return await run(plain);
  } catch (error) {
    if (!isMissingProgram(error)) throw error;
    throw new EmergentError('no_shell', `the image "${image}" has neither ${bash} nor ${plain}`, {
      hint: `Use an image that has one of them: in "${image}" only the tools for files and searching work.`,
      cause: error,
    });
  }
}
