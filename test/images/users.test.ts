import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Conversation, TestSandbox, newSpec, soon } from '../conformance/sandbox.ts';
import { Installation } from '../providers/gvisor/support/installation.ts';
import { imageFrom, imageOf } from './support.ts';
import type { TestImage } from './support.ts';

describe("an image's settings", () => {
  const opened = new AsyncDisposableStack();
  let installation: Installation;
  let image: TestImage;
  let sandbox: TestSandbox;

  beforeAll(async () => {
    installation = opened.use(await Installation.make());
    const { docker, options } = installation;
    image = opened.use(
      await imageFrom(docker, options.image, [
        'RUN groupadd -g 2000 crew && groupadd -g 2001 band && useradd -m -u 1500 -g crew -G band worker',
        'RUN cp /usr/bin/id /usr/bin/id-of-root && chmod 4755 /usr/bin/id-of-root',
        'ENV FROM_IMAGE=yes HOME=/home/of/image',
        'ENV PATH=/opt/tools:/usr/bin:/bin',
        'WORKDIR /srv',
        'USER worker',
        'ENTRYPOINT ["/bin/false"]',
        'CMD ["nothing"]',
        'HEALTHCHECK --interval=1s CMD exit 1',
        'STOPSIGNAL SIGUSR1',
        'EXPOSE 80',
        'VOLUME /data',
        'ONBUILD RUN false',
      ]),
    );
    sandbox = opened.use(new TestSandbox(installation.provider, newSpec(image.name)));
    await installation.provider.create(sandbox.spec, soon());
  });
  afterAll(() => opened.disposeAsync());

  const said = async (script: string): Promise<string> => {
    const { stdout, stderr } = await sandbox.sh(script);
    expect(stderr.toString()).toBe('');
    return stdout.toString().trim();
  };

  test('its user runs commands, with all groups and without privileges', async () => {
    expect(await said('id -un; id -u; id -g; id -G')).toBe('worker\n1500\n2000\n2000 2001');
    expect(await said('grep CapEff /proc/self/status | cut -f2')).toBe('0000000000000000');
    // Nor do set-user-id programs give any.
    expect(await said('id-of-root -u')).toBe('1500');
  });

  test('its environment holds, and its working directory does not', async () => {
    expect(await said('echo $FROM_IMAGE $PATH $HOME; pwd; env | grep -c EMERGENT_ || true')).toBe(
      'yes /opt/tools:/usr/bin:/bin /home/of/image\n/workspace\n0',
    );
  });

  test('what is written belongs to its user', async () => {
    await sandbox.write('/workspace/a/b/file', Buffer.from('x'));
    await sandbox.sh('mkdir made && touch made/file');
    const paths = '. a a/b a/b/file made made/file';
    const owners = await said(`stat -c '%U:%G' ${paths} | sort | uniq -c | tr -s ' '`);
    expect(owners).toBe('6 worker:crew');
    expect(await said('echo more >>a/b/file && cat a/b/file')).toBe('xmore');
  });

  test('its user has the streams and the terminal of its commands', async () => {
    expect(await said('echo out >/dev/stdout')).toBe('out');
    const pty = { cols: 80, rows: 24 };
    const shell = new Conversation(await sandbox.start(['sh'], { pty }));
    await shell.say(`stat -c 'owner %U' "$(tty)" && exec 3>"$(tty)" && echo wri''tten >&3; exit\n`);
    await shell.hear('owner worker');
    await shell.hear('written');
    await shell.end();
  });

  test('neither its program nor its health check runs, and its ports are closed', async () => {
    const { docker } = installation;
    const { State, Config, NetworkSettings } = await docker
      .getContainer(sandbox.spec.sandboxName)
      .inspect();
    expect(State).toMatchObject({ Running: true });
    expect(State.Health).toBeUndefined();
    expect(Config).toMatchObject({ StopSignal: 'SIGTERM' });
    expect(NetworkSettings.Ports).toEqual({});
  });

  test('its user stays when the sandbox is stopped, resumed and built anew', async () => {
    const { provider } = installation;
    const { spec } = sandbox;
    await sandbox.write('kept', Buffer.from('kept'));
    await provider.stop(spec, soon());
    await provider.resume(spec, spec, soon());
    expect(await said('id -un; cat kept')).toBe('worker\nkept');
    await provider.stop(spec, soon());
    await installation.docker.getContainer(spec.sandboxName).remove({ v: true });
    await provider.resume(spec, spec, soon());
    expect(await said('id -un; stat -c %U . kept; cat kept')).toBe('worker\nworker\nworker\nkept');
  });

  test('the volumes that it declares go with the sandbox', async () => {
    const { docker, provider } = installation;
    await using other = new TestSandbox(provider, newSpec(image.name));
    await provider.create(other.spec, soon());
    const { Mounts } = await docker.getContainer(other.spec.sandboxName).inspect();
    const { Name: data } = Mounts.find(({ Destination }) => Destination === '/data') ?? {};
    expect(data).toMatch(/^[0-9a-f]{64}$/);
    await other.destroy();
    const left = await docker.listVolumes({ filters: { name: [data ?? ''] } });
    expect(left.Volumes).toEqual([]);
  });
});

test('a user that the image does not have is said, and nothing is left', async () => {
  await using installation = await Installation.make();
  const { docker, provider } = installation;
  await using image = await imageOf(docker, [], ['USER nobody-here']);
  const { spec } = new TestSandbox(provider, newSpec(image.name));
  await expect(provider.create(spec, soon())).rejects.toMatchObject({
    code: 'image_unsuitable',
    message: `the image "${image.name}" names a USER that is not in its /etc/passwd`,
  });
  expect(await provider.list(soon())).toEqual([]);
});
