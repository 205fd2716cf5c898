import type { NewMcpServer } from '../http/mcp-types.ts';
import { defined } from './create-options.ts';
import { splitDockerRun } from './mcp-docker-flags.ts';
import { readEnvFile } from './mcp-env-file.ts';
import { NotMappable } from './mcp-expand.ts';
import type { Variables } from './mcp-expand.ts';

/** A server without its name, and what its owner should know about how it came to be. */
export interface MappedServer {
  readonly server: Omit<NewMcpServer, 'name'>;
  readonly notes: readonly string[];
}

/** What a list of options comes to, while it is read. */
interface Draft {
  readonly env: Record<string, string>;
  readonly volumes: string[];
  readonly notes: string[];
  network: string;
  entrypoint?: string;
  workdir?: string;
  cpu?: string;
  memory?: string;
  restart?: string;
}

/** They are about the container's life, which is ours here, or tell docker how to attach. */
const withoutMeaning = new Set([
  ...['interactive', 'rm', 'init', 'quiet', 'name', 'pull', 'attach', 'sig-proxy', 'log-driver'],
  ...['log-opt', 'stop-timeout', 'stop-signal', 'platform', 'no-healthcheck', 'cidfile'],
]);

/** They make the container smaller or name it: without them it works, and the sandbox is what isolates. */
const leftOut = new Set([
  ...['read-only', 'cap-drop', 'security-opt', 'pids-limit', 'ulimit', 'shm-size', 'label'],
  ...['hostname', 'cpu-shares', 'memory-swap', 'tmpfs', 'tty', 'publish', 'publish-all', 'expose'],
]);

const refusals: Readonly<Record<string, string>> = {
  privileged: 'the sandbox gives no privileges over the host',
  'cap-add': 'the sandbox gives no capabilities over the host',
  device: 'the sandbox has no devices of the host',
  gpus: 'the sandbox has no devices of the host',
  user: 'the program runs as the user of its image',
  detach: 'a server in the background cannot be talked to over its standard input',
  'add-host': 'the sandbox has no names of its own',
  dns: 'the sandbox has the name servers of its host',
};

/** What `docker run …` says, as a server to host; `variables` are those that docker itself would see. */
export function mapDockerRun(args: readonly string[], variables: Variables): MappedServer {
  const { flags, rest } = splitDockerRun(args);
  const [image, ...words] = rest;
  if (image === undefined) throw new NotMappable('docker run names no image');
  const draft: Draft = { env: {}, volumes: [], notes: [], network: 'nat' };
  for (const { name, value } of flags) apply(draft, name, value ?? '', variables);
  const { env, volumes, notes, network, entrypoint, workdir, cpu, memory, restart } = draft;
  const limits = defined({ cpu, memory });
  const server = {
    image,
    ...defined({
      command: entrypoint,
      args: words.length > 0 ? words : undefined,
      env: Object.keys(env).length > 0 ? env : undefined,
      volumes: volumes.length > 0 ? volumes : undefined,
      resource_limits: Object.keys(limits).length > 0 ? limits : undefined,
      workdir,
      restart_policy: restart,
    }),
    network,
  };
  return { server, notes };
}

function apply(draft: Draft, name: string, value: string, variables: Variables): void {
  if (withoutMeaning.has(name)) return;
  if (leftOut.has(name)) {
    draft.notes.push(`--${name} is left out${why(name)}`);
    return;
  }
  switch (name) {
    case 'env':
      Object.assign(draft.env, variable(value, variables));
      return;
    case 'env-file':
      // As with docker, --env holds against the file, wherever it stands.
      Object.assign(draft.env, { ...readEnvFile(value), ...draft.env });
      return;
    case 'volume':
      draft.volumes.push(volumePath(value));
      return;
    case 'mount':
      draft.volumes.push(mountPath(value));
      return;
    case 'network':
      draft.network = networkMode(value);
      return;
    case 'entrypoint':
      draft.entrypoint = value;
      return;
    case 'workdir':
      draft.workdir = value;
      return;
    case 'cpus':
      draft.cpu = value;
      return;
    case 'memory':
      draft.memory = value;
      return;
    case 'restart':
      draft.restart = restartPolicy(value);
      return;
    default:
      throw new NotMappable(
        `--${name} of docker run has no counterpart: ${refusals[name] ?? 'it is not known here'}`,
      );
  }
}

function why(name: string): string {
  if (name === 'publish' || name === 'publish-all' || name === 'expose') {
    return ': no port is published, clients come through the gateway';
  }
  return name === 'tty' ? ': messages go over a pipe' : '';
}

function variable(text: string, variables: Variables): Record<string, string> {
  const equals = text.indexOf('=');
  if (equals > 0) return { [text.slice(0, equals)]: text.slice(equals + 1) };
  const value = variables[text];
  if (value !== undefined) return { [text]: value };
  throw new NotMappable(`${text} is not set here: export it, then import again`);
}

/** `name:/path`, or `/path` alone; whatever else is left of the colon is a folder of the host. */
function volumePath(text: string): string {
  const [first = '', second] = text.split(':');
  const named = second === undefined ? first.startsWith('/') : /^\w[\w.-]*$/.test(first);
  if (named && !/^[A-Za-z]:[\\/]/.test(text)) return second ?? first;
  throw new NotMappable(hostFolder(text));
}

function mountPath(text: string): string {
  const fields = new Map(
    text.split(',').map((field) => {
      const equals = field.indexOf('=');
      return equals < 0 ? [field, ''] : [field.slice(0, equals), field.slice(equals + 1)];
    }),
  );
  const path = fields.get('target') ?? fields.get('destination') ?? fields.get('dst');
  if ((fields.get('type') ?? 'volume') === 'volume' && path !== undefined) return path;
  throw new NotMappable(hostFolder(text));
}

function hostFolder(text: string): string {
  return `${text} mounts a folder of the host, which a sandbox cannot see: name a volume instead`;
}

function networkMode(text: string): string {
  if (text === 'none') return 'isolated';
  if (text === 'bridge' || text === 'default') return 'nat';
  throw new NotMappable(`--network ${text}: a sandbox is on no network but its own (none, bridge)`);
}

function restartPolicy(text: string): string {
  if (text.startsWith('on-failure')) return 'on-failure';
  return text === 'no' ? 'never' : 'always';
}
