import type { ToolAnnotations } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { invalidRequest } from '../errors/invalid-request.ts';
import { gitBody, gitResult, presentGit, toGitRequest } from '../schemas/git.ts';
import { workspaceTool } from './tool.ts';
import type { WorkspaceTool } from './tool.ts';

type Action = z.output<typeof gitBody>['action'];

/** One tool for each: a model is served better by a small schema than by a choice of six in one. */
const facts: Readonly<
  Record<Action, { title: string; description: string; annotations: ToolAnnotations }>
> = {
  status: {
    title: 'Show the state of a repository',
    description: 'Show branch, upstream and changed files of a git repository.',
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  diff: {
    title: 'Show changes in a repository',
    description: 'Show what is changed in a git repository, as a list of files and a patch.',
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  commit: {
    title: 'Commit changes',
    description: 'Commit what is staged; stage everything (all) or some files first.',
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  },
  checkout: {
    title: 'Switch branches or bring back files',
    description: 'Check out a branch or commit, make a branch, or bring files back as they were.',
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
  },
  pull: {
    title: 'Pull from a remote',
    description: "Bring a remote's commits into the branch; fast-forward only, unless told.",
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
  },
  push: {
    title: 'Push to a remote',
    description: 'Send commits to a remote repository.',
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
  },
};

export const gitTools: readonly WorkspaceTool[] = gitBody.options.map((option) => {
  const { action: name, ...input } = option.shape;
  const action: Action = name.value;
  return workspaceTool(
    { name: `git_${action}`, ...facts[action] },
    {
      input,
      output: gitResult,
      async run({ engine, caller, signal }, id, given) {
        const wanted = toGitRequest(whole({ ...given, action }));
        return presentGit(await engine.tools.git(caller, id, wanted, signal));
      },
    },
  );
});

/** What one member has to say about another is known to the whole only. */
function whole(given: object): z.output<typeof gitBody> {
  const result = gitBody.safeParse(given);
  if (result.success) return result.data;
  throw invalidRequest('body', result.error.issues);
}
