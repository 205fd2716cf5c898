import type Docker from 'dockerode';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { soon } from '../conformance/sandbox.ts';
import { recordLog } from '../support/log.ts';
import type { TestSandbox } from '../conformance/sandbox.ts';
import { WorkspaceNetwork } from '../../src/providers/gvisor/network/workspace-network.ts';
import type { Installation } from '../providers/gvisor/support/installation.ts';
import { Ground } from './support/ground.ts';
import { notRefused, reach, tcp } from './support/reach.ts';
import { addresses, ports } from './support/world.ts';

const closed = [
  ...tcp(ports.http, '169.254.169.254', '10.77.0.10'),
  ...tcp(ports.host, addresses.host),
];

let ground: Ground;

beforeAll(async () => {
  ground = await Ground.make();
});

afterEach(async () => {
  await ground.installation.clean();
  await sweep();
});

afterAll(async () => {
  await ground[Symbol.asyncDispose]();
});

async function sweep(installation: Installation = ground.installation): Promise<void> {
  await installation.provider.sweep(false, soon());
}

async function leaks(workspace: TestSandbox): Promise<readonly string[]> {
  return notRefused(await reach(workspace, closed));
}

/** Another engine on the same host, on which no workspace is. */
async function engineWithoutNetwork(): Promise<Docker> {
  const info: unknown = await ground.engine.docker.info();
  const missing = Object.assign(new Error('no such network'), { statusCode: 404 });
  return {
    info: () => Promise.resolve({ ...(info as object), ID: 'another' }),
    getNetwork: () => ({ inspect: () => Promise.reject(missing) }),
    listContainers: () => Promise.resolve([]),
  } as unknown as Docker;
}

function warnings(): number {
  const told = 'had been changed and were put back';
  return ground.recorded.entries().filter(({ msg }) => msg.includes(told)).length;
}

describe("the host's rules", () => {
  test('come with the first workspace that has a network, and go with the last', async () => {
    await using _isolated = await ground.sandbox('isolated');
    expect([await ground.rules(), await ground.networks()]).toEqual([[], expect.anything()]);
    expect(await ground.networks()).not.toContain('emergent-nat');

    const first = await ground.sandbox();
    await using other = ground.another({ nameservers: ['192.168.77.10'] });
    const last = await ground.sandbox('nat', other);
    expect(await ground.rules()).toContain(`-A ${ground.jump('INPUT', 'INPUT')}`);
    await first.destroy();
    await sweep();
    expect(await leaks(last)).toEqual([]);

    // One that rests needs its network again.
    await last.provider.stop(last.spec, soon());
    await sweep();
    expect(await ground.networks()).toContain('emergent-nat');
    await last.provider.resume(last.spec, last.spec, soon());
    expect(await leaks(last)).toEqual([]);

    await last.destroy();
    await sweep();
    expect(await ground.rules()).toEqual([]);
    expect(await ground.networks()).not.toContain('emergent-nat');
    expect(await ground.onHost('iptables -S INPUT', 'iptables -S DOCKER-USER')).toBe(
      '-P INPUT ACCEPT\n-N DOCKER-USER\n-A DOCKER-USER -j RETURN\n',
    );
  });

  test('open the name servers of every installation, and of each only port 53', async () => {
    await using other = ground.another({ nameservers: ['192.168.77.10'] });
    const workspaces = [await ground.sandbox(), await ground.sandbox('nat', other)];
    const asked = tcp(ports.dns, addresses.resolver, '192.168.77.10');
    for (const workspace of workspaces) {
      expect(notRefused(await reach(workspace, asked))).toHaveLength(2);
      expect(notRefused(await reach(workspace, tcp(ports.http, '192.168.77.10')))).toEqual([]);
    }
  });

  test.each([
    ['a jump was deleted', () => `iptables -D ${ground.jump('DOCKER-USER', 'FORWARD')}`],
    ['a rule was put before them', () => 'iptables -I INPUT -j ACCEPT'],
    ['port 53 was opened to all', () => `iptables -I EMERGENT-DNS-${ground.tag} -j ACCEPT`],
    [
      'bridged packets were let through',
      () => 'echo 0 >/proc/sys/net/bridge/bridge-nf-call-iptables',
    ],
    // Takes the engine's own rules too, which are back after its restart: the next test's.
    ['all rules were flushed', () => 'iptables -F; ip6tables -F'],
  ])('are put back by the next start when %s', async (_what, harm) => {
    const workspace = await ground.sandbox();
    const before = await ground.rules();
    await ground.onHost(harm());
    const next = await ground.sandbox();
    expect(await ground.rules()).toEqual(expect.arrayContaining([...before]));
    expect(await leaks(workspace)).toEqual([]);
    const served = await next.start(['python3', '-m', 'http.server', '8000']);
    await next.sh('until curl -fs -o /dev/null http://127.0.0.1:8000/; do sleep 0.2; done');
    const sibling = tcp(8000, await ground.addressOf(next));
    expect(notRefused(await reach(workspace, sibling))).toEqual([]);
    await served.kill('SIGKILL');
    await ground.onHost('iptables -D INPUT -j ACCEPT || true');
  });

  test('hold through a restart and a crash of the engine, and come back after it', async () => {
    const workspace = await ground.sandbox();
    await ground.engine.stop();
    await ground.engine.start();
    expect(await leaks(workspace)).toEqual([]);

    await ground.engine.kill();
    await ground.onHost('iptables -F', 'iptables -t nat -F');
    await ground.engine.start();
    const told = warnings();
    await sweep();
    await sweep();
    expect(warnings()).toBe(told + 1);
    expect(await leaks(workspace)).toEqual([]);
    const hook = await ground.onHost('iptables -S DOCKER-USER');
    expect(hook).toContain(`-A ${ground.jump('DOCKER-USER', 'FORWARD')}`);
  });

  test('and the network are made again when another server removes them during a start', async () => {
    const { docker } = ground.engine;
    const network = new WorkspaceNetwork({ ...ground.installation.options, docker });
    const seen: boolean[] = [];
    const spec = { ...ground.installation.sandbox().spec, network: 'nat' } as const;
    await network.start(spec, soon(), async (ready) => {
      await ready;
      if (seen.length === 0) await sweep();
      seen.push((await ground.networks()).includes('emergent-nat'));
      if (seen.length === 1) throw new Error('network emergent-nat not found');
      return { limits: spec.limits, metadata: {} };
    });
    expect(seen).toEqual([false, true]);
    expect(await ground.rules()).toContain(`-A ${ground.jump('INPUT', 'INPUT')}`);
  });

  test('stay with a network that the engine does not let go of, and the log says why', async () => {
    const workspace = await ground.sandbox();
    // As an engine is that counts a container which it no longer has.
    let forgets = true;
    const { docker } = ground.engine;
    const forgetful = Object.create(docker) as Docker;
    Object.assign(forgetful, {
      listContainers: async (options: object) => (forgets ? [] : docker.listContainers(options)),
    });
    const { log, entries } = recordLog();
    const options = { ...ground.installation.options, docker: forgetful, log };
    const network = new WorkspaceNetwork(options);
    await network.sweep(soon());
    await network.sweep(soon());
    expect(entries()).toMatchObject([
      { level: 'warn', reason: expect.stringContaining('has active endpoints') as unknown },
    ]);
    expect(await leaks(workspace)).toEqual([]);
    forgets = false;
    await workspace.destroy();
    await network.sweep(soon());
    expect(await ground.networks()).not.toContain('emergent-nat');
    expect(entries().map(({ msg }) => msg)).toContain(
      'the engine has let go of the workspace network',
    );
  });

  test('are those of one engine: a server on another one leaves them alone', async () => {
    const workspace = await ground.sandbox();
    const before = await ground.rules();
    const other = new WorkspaceNetwork({
      ...ground.installation.options,
      docker: await engineWithoutNetwork(),
    });
    await other.sweep(soon());
    expect(await ground.rules()).toEqual(before);
    expect(await leaks(workspace)).toEqual([]);
  });

  test('hold for the network of an earlier version, which goes when nobody uses it', async () => {
    const { docker } = ground.engine;
    await docker.createNetwork({ Name: 'emergent-nat', Driver: 'bridge' });
    const user = await docker.createContainer({
      Image: ground.installation.options.image,
      Entrypoint: ['true'],
      HostConfig: { NetworkMode: 'emergent-nat' },
    });
    const workspace = await ground.sandbox();
    expect((await ground.rules()).join('\n')).toMatch(/-A INPUT -i br-\w{12} -j EMERGENT-INPUT-/);
    expect(await leaks(workspace)).toEqual([]);

    await workspace.destroy();
    await user.remove();
    const next = await ground.sandbox();
    expect((await ground.rules()).join('\n')).not.toContain('-i br-');
    expect(await leaks(next)).toEqual([]);
  });
});

describe('where no rules can be set', () => {
  const failure = 'iptables: no such program';
  const hostNetwork = (): Installation['options']['hostNetwork'] => ({
    ...ground.installation.options.hostNetwork,
    run: async () => ({ ok: false, notFound: false, stdout: '', failure }),
  });

  test('network nat is refused with the way out, and isolated works', async () => {
    await using unable = ground.another({ hostNetwork: hostNetwork() });
    await expect(ground.sandbox('nat', unable)).rejects.toMatchObject({
      code: 'provider_unavailable',
      message: expect.stringContaining(failure) as string,
      hint: expect.stringMatching(/isolated.*WORKSPACE_ALLOW_UNFILTERED_NETWORK/) as string,
    });
    await using _isolated = await ground.sandbox('isolated', unable);
    expect(await unable.provider.health(soon())).toMatchObject({
      details: { network_filter: 'none', network_warning: expect.anything() as string },
    });
  });

  test('it works with a warning where that is allowed', async () => {
    const allowed = { hostNetwork: hostNetwork(), allowUnfilteredNetwork: true };
    await using unable = ground.another(allowed);
    const sandbox = unable.sandbox();
    const spec = { ...sandbox.spec, network: 'nat' } as const;
    const created = await unable.provider.create(spec, soon());
    expect(created.metadata).toMatchObject({
      network_filter: 'none',
      network_warning: expect.stringContaining(failure) as string,
    });
    const told = ground.recorded.entries().filter(({ msg }) => msg.startsWith('no rules keep'));
    expect(told).toHaveLength(2);
  });
});
