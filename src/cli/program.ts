import { Command } from 'commander';
import { exitCodeHelp, exitCodes } from './exit-codes.ts';
import { commonOptions } from './input/options.ts';

interface Entry {
  readonly name: string;
  readonly summary: string;
  /** Loaded when the command is used, so that the others, and the server, cost it no time. */
  readonly load: () => Promise<{ define(command: Command): void }>;
  /** Commands that pass on an exit code tell their own failures apart from it. */
  readonly failureCode?: number;
  /** Takes the command line of another command, after `--`. */
  readonly takesCommand?: boolean;
}

const { ownFailure } = exitCodes;

const entries: readonly Entry[] = [
  { name: 'serve', summary: 'start the server', load: () => import('./commands/serve.ts') },
  { name: 'doctor', summary: 'check this host', load: () => import('./commands/doctor.ts') },
  {
    name: 'run',
    summary: 'create a workspace, run a command in it, destroy it',
    load: () => import('./commands/run.ts'),
    failureCode: ownFailure,
    takesCommand: true,
  },
  { name: 'create', summary: 'create a workspace', load: () => import('./commands/create.ts') },
  { name: 'list', summary: 'list workspaces', load: () => import('./commands/list.ts') },
  { name: 'get', summary: 'show a workspace', load: () => import('./commands/get.ts') },
  {
    name: 'top',
    summary: 'show what workspaces use',
    load: () => import('./commands/top.ts'),
  },
  {
    name: 'exec',
    summary: 'run a command in a workspace',
    load: () => import('./commands/exec.ts'),
    failureCode: ownFailure,
    takesCommand: true,
  },
  {
    name: 'shell',
    summary: 'open a shell in a workspace, or come back to one',
    load: () => import('./commands/shell.ts'),
    failureCode: ownFailure,
  },
  {
    name: 'ps',
    summary: 'list the commands that run in a workspace',
    load: () => import('./commands/ps.ts'),
  },
  {
    name: 'attach',
    summary: 'show the output of a process until it ends',
    load: () => import('./commands/attach.ts'),
    failureCode: ownFailure,
  },
  {
    name: 'kill',
    summary: 'send a signal to a process',
    load: () => import('./commands/kill.ts'),
  },
  { name: 'cp', summary: 'copy a file in or out', load: () => import('./commands/cp.ts') },
  {
    name: 'stop',
    summary: 'stop workspaces; their files stay',
    load: () => import('./commands/stop.ts'),
  },
  {
    name: 'resume',
    summary: 'start stopped workspaces again',
    load: () => import('./commands/resume.ts'),
  },
  {
    name: 'recover',
    summary: 'bring workspaces in error back',
    load: () => import('./commands/recover.ts'),
  },
  { name: 'destroy', summary: 'destroy workspaces', load: () => import('./commands/destroy.ts') },
  { name: 'events', summary: 'show what happened', load: () => import('./commands/events.ts') },
  {
    name: 'gc',
    summary: 'compare what is recorded with what is there',
    load: () => import('./commands/gc.ts'),
  },
  {
    name: 'providers',
    summary: 'show what can run workspaces',
    load: () => import('./commands/providers.ts'),
  },
  {
    name: 'pool',
    summary: 'show and change how many sandboxes wait for the next create',
    load: () => import('./commands/pool.ts'),
  },
  {
    name: 'mcp',
    summary: 'host MCP servers, use them, and connect clients to them',
    load: () => import('./commands/mcp.ts'),
  },
  { name: 'token', summary: 'manage access tokens', load: () => import('./commands/token.ts') },
  { name: 'version', summary: 'print the version', load: () => import('./commands/version.ts') },
];

export interface Program {
  readonly command: Command;
  /** What a failure of the command in use ends with, unless it says otherwise. */
  failureCode(): number;
  usageHint(): string;
}

export function createProgram(version: string): Program {
  let used: Entry | undefined;
  const program = commonOptions(new Command('emergent'))
    .description('Isolated computers for AI agents.')
    .version(version, '-V, --version', 'print the version')
    .enablePositionalOptions()
    .helpCommand(false)
    .exitOverride()
    // Errors are reported in one place, together with all others.
    .configureOutput({ outputError: () => undefined })
    .addHelpText('after', programHelp);
  for (const { name, summary } of entries) program.command(name).summary(summary);
  program.hook('preSubcommand', async (_, subcommand) => {
    used = entries.find(({ name }) => name === subcommand.name());
    const module = await used?.load();
    module?.define(subcommand);
  });
  return {
    command: program,
    failureCode: () => used?.failureCode ?? exitCodes.failure,
    usageHint: () => usageHint(used),
  };
}

function usageHint(used: Entry | undefined): string {
  if (!used) return 'See: emergent --help';
  const separator = used.takesCommand === true ? '; options of the command itself go after --' : '';
  return `See: emergent ${used.name} --help${separator}`;
}

const programHelp = `
Environment:
  EMERGENT_URL    the server (default: http://127.0.0.1:7700)
  EMERGENT_TOKEN  who you are (default, on the server's own machine: its admin token, from
                  admin-token in $EMERGENT_DATA_DIR or ~/.emergent)
  NO_COLOR        no colours
${exitCodeHelp}

Examples:
  emergent run -- uname -r
  id=$(emergent create) && emergent exec $id -- sh -c 'echo hello > greeting'
  emergent cp $id:greeting - && emergent destroy $id

\`emergent <command> --help\` shows more.`;
