import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { SandboxSpec } from '../../../src/domain/provider.ts';
import { unlinkVolume } from '../../../src/providers/gvisor/disk/volume-link.ts';
import { TestSandbox, newSpec, soon } from '../../conformance/sandbox.ts';
import { imageFrom } from '../../images/support.ts';
import type { TestImage } from '../../images/support.ts';
import { Installation } from './support/installation.ts';

const MiB = 2 ** 20;

async function createdWith(
  { provider, options }: Installation,
  change: Partial<SandboxSpec>,
): Promise<TestSandbox> {
  const sandbox = new TestSandbox(provider, { ...newSpec(options.image), ...change });
  await provider.create(sandbox.spec, soon());
  return sandbox;
}

async function said(sandbox: TestSandbox, script: string): Promise<string> {
  const { stdout, stderr } = await sandbox.sh(script);
  expect(stderr.toString()).toBe('');
  return stdout.toString().trim();
}

describe('volumes of a container', () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await Installation.make();
  });
  afterAll(async () => {
    await installation[Symbol.asyncDispose]();
  });

  test('share the disk of /workspace, and so its limit', async () => {
    const limits = { cpu: 1, memoryBytes: 256 * MiB, diskBytes: 64 * MiB };
    await using sandbox = await createdWith(installation, { limits, volumes: ['/data', '/more'] });
    const fill = (path: string) => sandbox.sh(`head -c ${String(25 * MiB)} /dev/zero > ${path}`);
    expect(await fill('/workspace/a')).toMatchObject({ exitCode: 0 });
    expect(await fill('/data/a')).toMatchObject({ exitCode: 0 });
    const third = await fill('/more/a');
    expect(third.exitCode).not.toBe(0);
    expect(third.stderr.toString()).toContain('No space left');
    const stats = await installation.provider.stats(sandbox.spec, soon());
    expect(stats.diskBytes).toBeGreaterThan(50 * MiB);
  });

  test('whose volumes are gone from the engine have their files again from the disk', async () => {
    await using sandbox = await createdWith(installation, { volumes: ['/data'] });
    await said(sandbox, 'echo kept > /data/file');
    await installation.removeContainer(sandbox.spec);
    const { docker } = installation;
    const filters = { name: [sandbox.spec.workspaceId] };
    const { Volumes } = await docker.listVolumes({ filters });
    expect(Volumes).toHaveLength(2);
    for (const { Name, Mountpoint } of Volumes) {
      await unlinkVolume(Mountpoint);
      await docker.getVolume(Name).remove();
    }
    await installation.provider.resume(sandbox.spec, sandbox.spec, soon());
    expect(await said(sandbox, 'cat /data/file')).toBe('kept');
  });

  test('one that the engine has made up goes with the rest', async () => {
    const sandbox = await createdWith(installation, { volumes: ['/data'] });
    const { docker } = installation;
    const Name = `agent-workspace-${sandbox.spec.workspaceId}-made-up`;
    await docker.createVolume({ Name });
    await sandbox.destroy();
    const { Volumes } = await docker.listVolumes({
      filters: { name: [sandbox.spec.workspaceId] },
    });
    expect(Volumes).toEqual([]);
  });

  test('without a disk of its own they are plain, and go all the same', async () => {
    await using plain = await Installation.make(systemClock, { diskMode: 'monitor' });
    await using sandbox = await createdWith(plain, { volumes: ['/data'] });
    await said(sandbox, 'echo kept > /data/file');
    await plain.removeContainer(sandbox.spec);
    await plain.provider.resume(sandbox.spec, sandbox.spec, soon());
    expect(await said(sandbox, 'cat /data/file')).toBe('kept');
    await sandbox.destroy();
    expect(await plain.provider.list(soon())).toEqual([]);
  });
});

describe('an image with a program and a user of its own', () => {
  const opened = new AsyncDisposableStack();
  let installation: Installation;
  let image: TestImage;
  let sandbox: TestSandbox;
  const program = {
    entrypoint: ['/bin/server', '--fast'],
    command: ['serve', 'two words'],
    workdir: '/srv',
  };

  beforeAll(async () => {
    installation = opened.use(await Installation.make());
    image = opened.use(
      await imageFrom(installation.docker, installation.options.image, [
        'RUN useradd -m -u 1500 worker && mkdir -p /srv/state && echo first > /srv/state/file',
        'RUN chown -R worker /srv/state && chmod 700 /srv/state',
        'USER worker',
        'WORKDIR /srv',
        'ENTRYPOINT ["/bin/server", "--fast"]',
        'CMD ["serve", "two words"]',
        'VOLUME /srv/state',
      ]),
    );
    const spec = { ...newSpec(image.name), volumes: ['/srv/state', '/fresh'] };
    sandbox = opened.use(new TestSandbox(installation.provider, spec));
  });
  afterAll(() => opened.disposeAsync());

  test('says what it is made to run, when it is created, resumed and built anew', async () => {
    const { provider } = installation;
    const { spec } = sandbox;
    expect(await provider.create(spec, soon())).toMatchObject({ program });
    expect(await provider.resume(spec, spec, soon())).toMatchObject({ program });
    await provider.stop(spec, soon());
    expect(await provider.resume(spec, spec, soon())).toMatchObject({ program });
    await installation.removeContainer(spec);
    expect(await provider.resume(spec, spec, soon())).toMatchObject({ program });
  });

  test('writes to its volumes, old and new, and finds there what it has put in', async () => {
    expect(await said(sandbox, 'cat /srv/state/file; stat -c %U /srv/state /fresh')).toBe(
      'first\nworker\nworker',
    );
    await said(sandbox, 'echo second > /srv/state/file; echo new > /fresh/file');
    await installation.removeContainer(sandbox.spec);
    await installation.provider.resume(sandbox.spec, sandbox.spec, soon());
    expect(await said(sandbox, 'cat /srv/state/file /fresh/file')).toBe('second\nnew');
  });

  test('a create that fails leaves no volume', async () => {
    const broken = await imageFrom(installation.docker, image.name, ['USER nobody-here']);
    await using _ = broken;
    const spec = { ...newSpec(broken.name), volumes: ['/data', '/more'] };
    await expect(installation.provider.create(spec, soon())).rejects.toMatchObject({
      code: 'image_unsuitable',
    });
    const { Volumes } = await installation.docker.listVolumes({
      filters: { name: [spec.workspaceId] },
    });
    expect(Volumes).toEqual([]);
    const left = await installation.provider.list(soon());
    expect(left.map(({ workspaceId }) => workspaceId)).not.toContain(spec.workspaceId);
  });
});
