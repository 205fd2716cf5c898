import { z } from 'zod';
import type { Workspace } from '../../domain/workspace.ts';
import { createWorkspaceBody, toCreateRequest } from '../schemas/create-workspace.ts';
import {
  destroyedWorkspace,
  listWorkspacesQuery,
  presentPage,
  presentWorkspace,
  toWorkspaceQuery,
  workspace,
  workspacePage,
} from '../schemas/workspace.ts';
import type { Call } from './call.ts';
import { tellOfCreation } from './creation-progress.ts';
import { serverTool, workspaceId } from './tool.ts';

const one = z.strictObject({ workspace_id: workspaceId });

export const createWorkspace = serverTool(
  {
    name: 'create_workspace',
    title: 'Create a workspace',
    description:
      'Create an isolated Linux computer and wait until it is ready. Everything may be left out. The id in the answer ' +
      'is the workspace_id of every other tool. Destroy what is no longer needed.',
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
  },
  {
    input: createWorkspaceBody,
    output: workspace,
    async run(call, input) {
      const { engine, caller, signal } = call;
      const wanted = toCreateRequest(input, true);
      using _telling = tellOfCreation(call, wanted);
      return presentWorkspace(await engine.workspaces.create(caller, wanted, signal));
    },
    text: describe,
  },
);

export const listWorkspaces = serverTool(
  {
    name: 'list_workspaces',
    title: 'List workspaces',
    description: 'List the workspaces that there are, newest first, one page at a time.',
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    input: listWorkspacesQuery,
    output: workspacePage,
    async run({ engine, caller }, query) {
      return presentPage(await engine.workspaces.list(caller, toWorkspaceQuery(query)));
    },
    text({ items, next_cursor: next }) {
      const lines = items.map(describe);
      if (next !== null) lines.push(`[more follow: cursor ${next}]`);
      return lines.join('\n') || '[there are no workspaces]';
    },
  },
);

export const getWorkspace = serverTool(
  {
    name: 'get_workspace',
    title: 'Look at a workspace',
    description: 'Show the status of a workspace, its limits and when it expires.',
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    input: one,
    output: workspace,
    run: async ({ engine, caller }, { workspace_id: id }) =>
      presentWorkspace(await engine.workspaces.get(caller, id)),
  },
);

export const stopWorkspace = change('stop', {
  title: 'Stop a workspace',
  description: 'Stop a workspace: its files stay, its processes end. resume_workspace starts it.',
  make: ({ engine, caller }, id) => engine.workspaces.stop(caller, id),
});

export const resumeWorkspace = change('resume', {
  title: 'Resume a workspace',
  description: 'Start a stopped workspace again, on the files that it had.',
  make: ({ engine, caller }, id) => engine.workspaces.resume(caller, id),
});

export const recoverWorkspace = change('recover', {
  title: 'Recover a workspace',
  description: 'Try to bring a workspace in status "error" back.',
  make: ({ engine, caller }, id) => engine.workspaces.recover(caller, id),
});

export const destroyWorkspace = serverTool(
  {
    name: 'destroy_workspace',
    title: 'Destroy a workspace',
    description: 'Destroy a workspace and everything in it, for good.',
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
  },
  {
    input: one,
    output: destroyedWorkspace,
    async run({ engine, caller }, { workspace_id: id }) {
      await engine.workspaces.destroy(caller, id);
      return { id, status: 'destroyed' as const };
    },
    text: ({ id }) => `Workspace ${id} is destroyed.`,
  },
);

interface Change {
  readonly title: string;
  readonly description: string;
  readonly make: (call: Call, id: string) => Promise<Workspace>;
}

/** Each answers when the change is done; a workspace that is there already is answered as it is. */
function change(verb: 'stop' | 'resume' | 'recover', { title, description, make }: Change) {
  const annotations = {
    readOnlyHint: false,
    destructiveHint: verb === 'stop',
    idempotentHint: true,
    openWorldHint: false,
  };
  return serverTool(
    { name: `${verb}_workspace`, title, description, annotations },
    {
      input: one,
      output: workspace,
      run: async (call, { workspace_id: id }) => presentWorkspace(await make(call, id)),
      text: describe,
    },
  );
}

function describe(shown: z.output<typeof workspace>): string {
  const { cpu, memory, disk } = shown.resource_limits;
  const reason = shown.status_reason === null ? '' : ` (${shown.status_reason})`;
  const limits = `${String(cpu)} CPU, ${memory} memory, ${disk} disk`;
  const expiry = shown.expires_at === null ? '' : `, expires ${shown.expires_at}`;
  return `${shown.id}: ${shown.status}${reason}; ${shown.provider}, ${shown.image}, ${limits}${expiry}`;
}
