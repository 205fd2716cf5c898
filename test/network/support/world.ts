import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { withDeadline } from '../../../src/base/deadline.ts';
import { runOk } from '../../../src/host/run.ts';

const answeringHost = fileURLToPath(new URL('answering-host.ts', import.meta.url));
const commandMs = 50_000;

export const addresses = {
  /** Of the engine's host, on its way to the world. */
  host: '198.51.100.1',
  world: '198.51.100.2',
  public: '203.0.113.10',
  resolver: '10.88.0.53',
  /** Some of every range that workspaces are kept from; all of them answer. */
  closed: [
    ...['10.77.0.10', '172.31.77.10', '192.168.77.10', '100.64.7.10', '198.18.7.10'],
    ...['169.254.169.254', '192.0.0.192', '168.63.129.16'],
  ],
} as const;

export const ports = { dns: 53, http: 80, host: 7700 } as const;

/**
 * A world around a private engine, made of network namespaces alone: beyond the engine's host lies one machine
 * that has a public address and many private ones and answers on all of them, and the host itself answers on all
 * of its own. No real network is touched.
 */
export class World implements AsyncDisposable {
  readonly namespace: string;
  readonly #machines: readonly [Machine, Machine];

  static async around(hostNamespace: string): Promise<World> {
    const machines = await Promise.all([
      Machine.start(['unshare', '--net'], [ports.dns, ports.http]),
      Machine.start(['nsenter', `--net=${hostNamespace}`], [ports.dns, ports.host]),
    ]);
    const world = new World(machines);
    const extra = [addresses.public, addresses.resolver, ...addresses.closed];
    await inNamespace(hostNamespace, [
      `ip link add world type veth peer name host netns ${String(machines[0].pid)}`,
      `ip address add ${addresses.host}/24 dev world`,
      'ip link set lo up',
      'ip link set world up',
    ]);
    await inNamespace(world.namespace, [
      'ip link set lo up',
      `ip address add ${addresses.world}/24 dev host`,
      'ip link set host up',
      ...extra.map((address) => `ip address add ${address}/32 dev lo`),
    ]);
    await inNamespace(hostNamespace, [`ip route add default via ${addresses.world}`]);
    for (const machine of machines) await machine.answer();
    return world;
  }

  private constructor(machines: readonly [Machine, Machine]) {
    this.#machines = machines;
    this.namespace = `/proc/${String(machines[0].pid)}/ns/net`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const machine of this.#machines) await machine[Symbol.asyncDispose]();
  }
}

/** Runs each line as a command in the namespace, and returns what they print. */
export async function inNamespace(namespace: string, lines: readonly string[]): Promise<string> {
  const script = ['set -e', ...lines].join('\n');
  const argv = ['nsenter', `--net=${namespace}`, 'bash', '-c', script];
  return (await runOk(argv, { timeoutMs: commandMs })).stdout;
}

/** `unshare` and `nsenter` become the program, so that its pid stands for its namespace. */
class Machine implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: Interface;

  /** It does not answer yet: first it needs addresses. */
  static async start(way: readonly string[], listenOn: readonly number[]): Promise<Machine> {
    const [program = '', ...args] = way;
    const argv = [...args, process.execPath, answeringHost, ...listenOn.map(String)];
    const machine = new Machine(spawn(program, argv, { stdio: ['pipe', 'pipe', 'inherit'] }));
    await machine.#hear();
    return machine;
  }

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async answer(): Promise<void> {
    const heard = this.#hear();
    this.#child.stdin.write('answer\n');
    await heard;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await withDeadline('the end of a machine', commandMs, () => ended);
  }

  async #hear(): Promise<void> {
    await withDeadline('a machine', commandMs, () => once(this.#lines, 'line'));
  }
}
