import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { containerBounds } from '../../src/providers/gvisor/container-bounds.ts';
import { gvisorProfile } from '../../src/providers/gvisor/container-profile.ts';
import { ScenarioServer, resourcesOf } from './support.ts';

const GiB = 2 ** 30;

describe('creating a workspace on gVisor', () => {
  let server: ScenarioServer;
  beforeAll(async () => {
    server = await ScenarioServer.start();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  verifies(
    [
      'lifecycle/successful-workspace-creation-with-default-settings',
      'orchestration/no-provider-specified-defaults-to-auto',
    ],
    'gives defaults to a request that says nothing, as it does to provider "auto"',
    async () => {
      const [silent, auto] = await Promise.all([
        server.call('POST', ''),
        server.call('POST', '', { provider: 'auto' }),
      ]);
      for (const { status, body } of [silent, auto]) {
        expect(status).toBe(201);
        expect(body).toMatchObject({
          container_type: 'agent_workspace',
          status: 'ready',
          provider: 'gvisor',
          network: 'nat',
          resource_limits: { cpu: 2, memory: '4G', disk: '10G' },
          metadata: { isolation: 'gvisor' },
        });
        const thirtyDays = 30 * 24 * 3600 * 1000;
        const life = Date.parse(body.expires_at) - Date.parse(body.created_at);
        expect(life).toBe(thirtyDays);
        expect((await server.call('GET', `/${body.id}`)).body).toEqual(body);
      }
    },
  );

  verifies(
    ['gvisor/create-gvisor-container-with-default-configuration', 'gvisor/named-volume-creation'],
    'runs it under runsc, hardened, with the default limits and a named volume at /workspace',
    async () => {
      const id = await server.create();
      const container = await server.docker.getContainer(`emergent-${id}`).inspect();
      const { NCPU: cpus } = (await server.docker.info()) as { NCPU: number };
      const cpu = Math.min(2, cpus);
      const bounds = containerBounds(
        { cpu, memoryBytes: 4 * GiB, diskBytes: 10 * GiB },
        gvisorProfile('runsc'),
      );
      expect(container.HostConfig).toMatchObject({
        Runtime: 'runsc',
        NanoCpus: cpu * 1e9,
        Memory: bounds.engineMemoryBytes,
        MemorySwap: bounds.engineMemoryBytes,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
      });
      expect(container.HostConfig.Privileged).toBe(false);
      const mounts = container.Mounts.map(({ Name, Destination, RW }) => [Name, Destination, RW]);
      expect(mounts).toContainEqual([`agent-workspace-${id}`, '/workspace', true]);
      expect(mounts).toContainEqual([
        expect.stringMatching(/^emergent-agent-/) as unknown,
        '/.emergent',
        false,
      ]);
      expect(await resourcesOf(server.docker, id)).toEqual([
        `/emergent-${id}`,
        `agent-workspace-${id}`,
      ]);
      // What runs inside really runs on gVisor's kernel.
      const { body } = await server.bash(id, 'uname -r; dmesg | head -1');
      expect(body.stdout).toMatch(/gvisor\n.*Starting gVisor/);
    },
  );

  verifies(
    ['gvisor/cpu-limit-via-docker', 'gvisor/memory-limit-via-docker'],
    'hands the limits that were asked for to the engine, and reports them',
    async () => {
      const { body } = await server.call('POST', '', {
        resource_limits: { cpu: '0.5', memory: '512M' },
      });
      expect(body.resource_limits).toEqual({ cpu: 0.5, memory: '512M', disk: '10G' });
      const container = await server.docker.getContainer(`emergent-${body.id}`).inspect();
      expect(container.HostConfig.NanoCpus).toBe(0.5e9);
      // What ends the whole sandbox lies above what the agent holds its processes to.
      expect(container.HostConfig.Memory).toBe(0.75 * GiB);
      expect(container.Config.Env).toContain(`EMERGENT_MEMORY_LIMIT=${String(GiB / 2)}`);
    },
  );

  test('grants no more CPUs than the engine has, and says how many', async () => {
    const { body } = await server.call('POST', '', { resource_limits: { cpu: 64 } });
    const { NCPU: cpus } = (await server.docker.info()) as { NCPU: number };
    expect(body.resource_limits['cpu']).toBe(Math.min(64, cpus));
  });

  test('has no network at all when isolated, and a name server when not', async () => {
    const isolated = await server.create({ network: 'isolated' });
    const links = await server.bash(isolated, 'cut -s -d: -f1 /proc/net/dev');
    expect(links.body.stdout.trim()).toBe('lo');
    const nat = await server.create({ network: 'nat' });
    const resolver = await server.bash(nat, 'cat /etc/resolv.conf');
    expect(resolver.body.stdout).toMatch(/^nameserver (?!127\.)/m);
  });

  test('refuses an image that the engine does not have, and leaves nothing behind', async () => {
    const before = (await server.call('GET', '')).body.items.length;
    const { status, body } = await server.call('POST', '', {
      image: 'emergent-workspace:never-built',
    });
    expect([status, body.error.code]).toEqual([422, 'image_not_found']);
    expect(body.error.message).toContain('emergent-workspace:never-built');
    expect((await server.call('GET', '')).body.items).toHaveLength(before);
  });

  test('goes on after a restart of the server, with its files and without a new container', async () => {
    const id = await server.create();
    await server.bash(id, 'echo kept > file; sleep 1000 & echo $! > pid');
    await server.restart();
    const { body } = await server.bash(id, 'cat file; kill -0 $(cat pid) && echo alive');
    expect(body.stdout).toBe('kept\nalive\n');
  });
});
