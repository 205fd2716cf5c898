import { McpServer } from '@modelcontextprotocol/server';
import { bash } from './bash.ts';
import { edit, read, write } from './files.ts';
import { gitTools } from './git.ts';
import {
  createWorkspace,
  destroyWorkspace,
  getWorkspace,
  listWorkspaces,
  recoverWorkspace,
  resumeWorkspace,
  stopWorkspace,
} from './lifecycle.ts';
import { killProcess, listProcesses, processOutput, startProcess } from './processes.ts';
import { glob, grep } from './search.ts';
import type { Serving, Tool, WorkspaceServing } from './tool.ts';

const workspaceTools = [
  ...[bash, read, write, edit, glob, grep],
  ...gitTools,
  ...[startProcess, processOutput, listProcesses, killProcess],
];

const lifecycleTools: readonly Tool[] = [
  createWorkspace,
  listWorkspaces,
  getWorkspace,
  stopWorkspace,
  resumeWorkspace,
  recoverWorkspace,
  destroyWorkspace,
];

/** What is offered at one address: who it says it is, how a model should use it, and its tools. */
export interface Offer<S extends Serving> {
  readonly title: string;
  readonly instructions: string;
  readonly tools: readonly Tool<S>[];
}

export const oneWorkspace: Offer<WorkspaceServing> = {
  title: 'Emergent workspace',
  instructions: `These tools work in one isolated Linux computer, the workspace. Its files are under /workspace, where \
relative paths and commands begin.
- Look with read, glob and grep, change files with edit and write, and run everything else with bash.
- bash waits for its command and is killed when the call is cancelled. What should go on (a server, a watcher) is \
started with start_process and read with process_output.
- An error names its code and has a hint that says what to do next.`,
  tools: workspaceTools.map(({ here }) => here),
};

export const wholeServer: Offer<Serving> = {
  title: 'Emergent Workspaces',
  instructions: `This server gives you isolated Linux computers, called workspaces. create_workspace makes one and \
answers with its id; every other tool takes that id as workspace_id. Files are under /workspace, where relative paths \
and commands begin.
- Use one workspace for one task, and destroy_workspace when the task is done; stop_workspace keeps its files and ends \
its processes, resume_workspace starts it again. list_workspaces shows what you have.
- Look with read, glob and grep, change files with edit and write, and run everything else with bash.
- bash waits for its command and is killed when the call is cancelled. What should go on (a server, a watcher) is \
started with start_process and read with process_output.
- An error names its code and has a hint that says what to do next.`,
  tools: [...lifecycleTools, ...workspaceTools.map(({ anywhere }) => anywhere)],
};

export const serverName = 'emergent-workspaces';

/** A server for one request, as the protocol's newest revision has it. */
export function mcpServerOf<S extends Serving>(
  { title, instructions, tools }: Offer<S>,
  serving: S,
  version: string,
): McpServer {
  const server = new McpServer(
    { name: serverName, title, version },
    // The tools are the same for as long as this version of the server runs.
    { capabilities: { tools: { listChanged: false } }, instructions },
  );
  for (const tool of tools) tool.addTo(server, serving);
  return server;
}
