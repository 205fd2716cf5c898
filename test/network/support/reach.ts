import type { TestSandbox } from '../../conformance/sandbox.ts';

/** `tcp 10.0.0.1 80` */
export type Target = `${'tcp' | 'udp'} ${string} ${string}`;

/** What came back: `reached …` from whoever answered, `refused (ERRNO)` at once, or `no answer`. */
export type Outcome = string;

const script = `
import errno, json, socket, sys
from concurrent.futures import ThreadPoolExecutor

def reach(target):
    kind, address, port = target.split(' ')
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    kinds = {'tcp': socket.SOCK_STREAM, 'udp': socket.SOCK_DGRAM}
    try:
        with socket.socket(family, kinds[kind]) as s:
            s.settimeout(15 if kind == 'tcp' else 1)
            s.connect((address, int(port)))
            for last in [kind == 'tcp'] if kind == 'tcp' else [False] * 14 + [True]:
                try:
                    if kind == 'udp': s.send(b'anybody?')
                    return s.recv(100).decode().strip() or 'closed'
                except TimeoutError:
                    if last: raise
    except TimeoutError:
        return 'no answer'
    except OSError as error:
        return 'refused (' + errno.errorcode.get(error.errno, str(error)) + ')'

targets = sys.argv[1:]
with ThreadPoolExecutor(len(targets)) as pool:
    print(json.dumps(dict(zip(targets, pool.map(reach, targets)))))
`;

/** Sends packets from inside the sandbox, to all targets at once. */
export async function reach(
  sandbox: TestSandbox,
  targets: readonly Target[],
): Promise<Readonly<Record<string, Outcome>>> {
  const result = await sandbox.run(['python3', '-c', script, ...targets]);
  if (result.exitCode !== 0) throw new Error(result.stderr.toString());
  return JSON.parse(result.stdout.toString()) as Record<string, Outcome>;
}

export function tcp(port: number, ...hosts: readonly string[]): Target[] {
  return hosts.map((host) => `tcp ${host} ${String(port)}` as const);
}

export function udp(port: number, ...hosts: readonly string[]): Target[] {
  return hosts.map((host) => `udp ${host} ${String(port)}` as const);
}

/** What `reach` gives when each target was reached at the address it names. */
export function allReached(targets: readonly Target[]): Readonly<Record<string, Outcome>> {
  const reached = (target: Target): string => `reached ${target.split(' ')[1] ?? ''}`;
  return Object.fromEntries(targets.map((target) => [target, reached(target)]));
}

/** Those of the outcomes that are not a refusal at once. */
export function notRefused(outcomes: Readonly<Record<string, Outcome>>): readonly string[] {
  return Object.entries(outcomes)
    .filter(([, outcome]) => !outcome.startsWith('refused'))
    .map(([target, outcome]) => `${target}: ${outcome}`);
}
