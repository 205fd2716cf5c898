import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { Failure } from '../failure.ts';
import type { NewMcpServer } from '../http/mcp-types.ts';
import { mapDockerRun } from './mcp-docker-run.ts';
import type { MappedServer } from './mcp-docker-run.ts';
import { readEnvFile } from './mcp-env-file.ts';
import { expand, NotMappable } from './mcp-expand.ts';
import type { Variables } from './mcp-expand.ts';
import { isObject } from './mcp-json.ts';
import { acceptableName } from './mcp-name.ts';
import type { SettingsEntry } from './mcp-settings-file.ts';

/** What is to be done about one entry. */
export type Plan = { readonly name: string } & (
  | { readonly kind: 'add'; readonly server: NewMcpServer; readonly notes: readonly string[] }
  /** It needs no home here. */
  | { readonly kind: 'skip'; readonly reason: string }
  /** It cannot have one as it is written. */
  | { readonly kind: 'refuse'; readonly reason: string }
);

export interface PlanOptions {
  /** For programs that bring no image: npx, uvx, node, python. */
  readonly image: string | undefined;
  readonly variables: Variables;
  /** The settings file; an `envFile` is looked for beside it. */
  readonly file: string;
}

/** What an entry of a client's settings means here. */
export function planOf({ name, value }: SettingsEntry, options: PlanOptions): Plan {
  if (['url', 'serverUrl', 'httpUrl'].some((key) => typeof value[key] === 'string')) {
    return { kind: 'skip', name, reason: 'it is reached at a URL already' };
  }
  if (value['disabled'] === true || value['enabled'] === false) {
    return { kind: 'skip', name, reason: 'it is switched off there' };
  }
  try {
    const { server, notes } = mapEntry(value, options);
    const accepted = acceptableName(name);
    const renamed = accepted === name ? [] : [`"${name}" is called ${accepted} here`];
    const all = [...renamed, ...notes];
    return { kind: 'add', name: accepted, server: { name: accepted, ...server }, notes: all };
  } catch (error) {
    if (!(error instanceof NotMappable || error instanceof Failure)) throw error;
    return { kind: 'refuse', name, reason: error.message };
  }
}

function mapEntry(value: SettingsEntry['value'], options: PlanOptions): MappedServer {
  const { variables } = options;
  const { command, args } = words(value, variables);
  const env = { ...fileEnv(value, options), ...ownEnv(value, variables) };
  const program = basename(command);
  if (program === 'docker' || program === 'podman') {
    return mapDockerRun(runArguments(program, args), { ...variables, ...env });
  }
  const notes = 'cwd' in value ? ['its cwd is a folder of this machine, and left out'] : [];
  return {
    server: {
      ...(options.image !== undefined && { image: options.image }),
      command: command.includes('\\') ? program : command,
      ...(args.length > 0 && { args }),
      ...(Object.keys(env).length > 0 && { env }),
      // Most of them fetch what they run, and then talk to a service.
      network: 'nat',
    },
    notes,
  };
}

/** The command and its arguments; Windows' `cmd /c` in front of them is left out. */
function words(
  value: SettingsEntry['value'],
  variables: Variables,
): { readonly command: string; readonly args: readonly string[] } {
  const { command, args = [] } = value;
  if (typeof command !== 'string' || command.trim() === '') {
    throw new NotMappable('it has no command');
  }
  if (!Array.isArray(args) || !args.every((one): one is string => typeof one === 'string')) {
    throw new NotMappable('its args are not a list of strings');
  }
  const [first = '', ...rest] = [command, ...args].map((text) => expand(text, variables));
  const [flag, inner, ...innerArgs] = rest;
  if (basename(first) === 'cmd' && flag?.toLowerCase() === '/c' && inner !== undefined) {
    return { command: inner, args: innerArgs };
  }
  return { command: first, args: rest };
}

function ownEnv(
  { env = {} }: SettingsEntry['value'],
  variables: Variables,
): Record<string, string> {
  if (!isObject(env)) throw new NotMappable('its env is not an object');
  return Object.fromEntries(
    Object.entries(env).map(([name, given]) => {
      if (!['string', 'number', 'boolean'].includes(typeof given)) {
        throw new NotMappable(`its variable ${name} is not text`);
      }
      return [name, expand(String(given), variables)];
    }),
  );
}

function fileEnv(
  { envFile }: SettingsEntry['value'],
  { variables, file }: PlanOptions,
): Readonly<Record<string, string>> {
  if (typeof envFile !== 'string') return {};
  const path = envFile.replace('${userHome}', homedir());
  return readEnvFile(resolve(dirname(file), expand(path, variables)));
}

/** What follows `run` in `docker run …` and `docker container run …`. */
function runArguments(program: string, args: readonly string[]): readonly string[] {
  const words = args[0] === 'container' ? args.slice(1) : args;
  if (words[0] === 'run') return words.slice(1);
  throw new NotMappable(`\`${program} ${args.join(' ')}\` is not a \`${program} run\``);
}

function basename(command: string): string {
  return command.replace(/^.*[\\/]/, '').replace(/\.(?:exe|cmd|bat)$/i, '');
}
