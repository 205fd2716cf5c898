import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestSandbox } from '../conformance/sandbox.ts';
import { soon } from '../conformance/sandbox.ts';
import { verifies } from '../support/verifies.ts';
import { Ground } from './support/ground.ts';
import { allReached, notRefused, reach, tcp, udp } from './support/reach.ts';
import { addresses, inNamespace, ports } from './support/world.ts';

let ground: Ground;
let workspace: TestSandbox;
let sibling: TestSandbox;

beforeAll(async () => {
  ground = await Ground.make();
  workspace = await ground.sandbox();
  sibling = await ground.sandbox();
});

afterAll(async () => {
  await ground[Symbol.asyncDispose]();
});

describe('a workspace with network nat', () => {
  test('reaches public addresses through its host', async () => {
    const targets = [...tcp(ports.http, addresses.public), ...udp(ports.dns, addresses.public)];
    expect(await reach(workspace, targets)).toEqual(allReached(targets));
  });

  test('reaches no metadata service and nothing in a private range', async () => {
    expect(notRefused(await reach(workspace, tcp(ports.http, ...addresses.closed)))).toEqual([]);
    const others = [
      ...udp(ports.dns, '169.254.169.254', '10.77.0.10'),
      ...tcp(ports.dns, '192.168.77.10'),
      ...tcp(ports.http, 'fd00:ec2::254'),
    ];
    expect(notRefused(await reach(workspace, others))).toEqual([]);
  });

  test('reaches its host on none of its addresses', async () => {
    const own = (await ground.onHost('ip -o address show')).matchAll(/inet6? ([^/ ]+)/g);
    const found = [...own].flatMap((match) => match[1] ?? []);
    expect(found).toEqual(expect.arrayContaining(['172.17.0.1', addresses.host]));
    // Loopback is the workspace's own.
    const hosts = found.filter((address) => !/^(127\.|::1$)/.test(address));
    expect(hosts.length).toBeGreaterThanOrEqual(4);
    const targets = [
      ...tcp(ports.host, ...hosts.filter((address) => !address.startsWith('fe80:'))),
      ...tcp(ports.host, ...hosts.filter((a) => a.startsWith('fe80:')).map((a) => `${a}%eth0`)),
      ...tcp(ports.dns, addresses.host),
      ...udp(ports.dns, addresses.host),
    ];
    expect(notRefused(await reach(workspace, targets))).toEqual([]);
  });

  test('asks its name server though that is in a private range, and nothing else of it', async () => {
    const { resolver } = addresses;
    const asked = [...udp(ports.dns, resolver), ...tcp(ports.dns, resolver)];
    expect(await reach(workspace, asked)).toEqual(allReached(asked));
    expect(notRefused(await reach(workspace, tcp(ports.http, resolver)))).toEqual([]);
  });

  verifies(
    ['gvisor/mcp-server-with-gvisor-networking'],
    'answers the server through its bridge and reaches no other container, not by a published port either',
    async () => {
      const answering = ['python3', '-m', 'http.server', '8000'] as const;
      const served = await sibling.start(answering);
      const published = await ground.published(8000, 9000);
      const inside = await sibling.sh(
        'until curl -fsS -o /dev/null http://127.0.0.1:8000/; do sleep 0.2; done; echo up',
      );
      expect(inside.stdout.toString()).toBe('up\n');
      const address = await ground.addressOf(sibling);
      // Both answer: the host reaches the sibling, and the world the published port.
      const ask = (host: string, port: number): string =>
        `for i in {1..50}; do curl -fsS -o /dev/null --max-time 5 http://${host}:${String(port)}/ && exit; sleep 0.2; done; exit 1`;
      await ground.onHost(ask(address, 8000));
      await inNamespace(ground.world.namespace, [ask(addresses.host, 9000)]);

      const gateway = address.replace(/\.\d+$/, '.1');
      const targets = [
        ...tcp(8000, address, published),
        ...tcp(9000, addresses.host, gateway, '172.17.0.1'),
      ];
      expect(notRefused(await reach(workspace, targets))).toEqual([]);
      await served.kill('SIGKILL');
    },
  );

  test('would reach all that without the rules, which the next sweep puts back', async () => {
    const targets = [
      ...tcp(ports.http, ...addresses.closed),
      ...tcp(ports.host, addresses.host, '172.17.0.1'),
    ];
    const chains = ['FORWARD', 'INPUT'].map((name) => `EMERGENT-${name}-${ground.tag}`);
    await ground.onHost(...chains.map((chain) => `iptables -F ${chain}`));
    expect(await reach(workspace, targets)).toEqual(allReached(targets));

    await ground.installation.provider.sweep(false, soon());
    expect(notRefused(await reach(workspace, targets))).toEqual([]);
  });
});

test('an isolated workspace has no network but loopback', async () => {
  await using isolated = await ground.sandbox('isolated');
  const links = await isolated.sh('ip -o link show | cut -d: -f2');
  expect(links.stdout.toString().trim()).toBe('lo');
  const targets = [
    ...tcp(ports.http, addresses.public, '169.254.169.254'),
    ...tcp(ports.host, addresses.host),
    ...udp(ports.dns, addresses.resolver),
  ];
  expect(notRefused(await reach(isolated, targets))).toEqual([]);
});
