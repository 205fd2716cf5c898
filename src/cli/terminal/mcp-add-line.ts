import type { NewMcpServer } from '../http/mcp-types.ts';
import { shellWord } from '../remote/quote.ts';

/** The command that would add this server. Of its environment only the names: the values are secrets. */
export function addLine(server: NewMcpServer): string {
  const { command, args = [], env = {}, volumes = [], resource_limits: limits = {} } = server;
  const options: [string, string | number | undefined][] = [
    ['--image', server.image],
    ...Object.keys(env).map((name): [string, string] => ['--env', name]),
    ...volumes.map((path): [string, string] => ['--volume', path]),
    ['--network', server.network],
    ['--restart', server.restart_policy],
    ['--workdir', server.workdir],
    ['--cpu', limits.cpu],
    ['--memory', limits.memory],
  ];
  const said = options.flatMap(([name, value]) =>
    value === undefined ? [] : [name, shellWord(String(value))],
  );
  const program = [...(command === undefined ? [] : [command]), ...args].map(shellWord);
  return [
    ...['emergent', 'mcp', 'add', shellWord(server.name), ...said],
    ...(program.length > 0 ? ['--', ...program] : []),
  ].join(' ');
}
