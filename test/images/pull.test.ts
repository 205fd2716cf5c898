import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { StartProgress } from '../../src/domain/provider.ts';
import { TestSandbox, newSpec, soon } from '../conformance/sandbox.ts';
import { Installation } from '../providers/gvisor/support/installation.ts';
import { TestRegistry } from '../support/registry.ts';
import type { RegistryImage } from '../support/registry.ts';
import { layerOf, removing } from './support.ts';

const size = 3_000_000;

describe('an image that the engine does not have', () => {
  const opened = new AsyncDisposableStack();
  let registry: TestRegistry;
  let installation: Installation;
  let small: Buffer;

  beforeAll(async () => {
    registry = opened.use(await TestRegistry.start());
    installation = opened.use(await Installation.make());
    small = await layerOf('small', 1000);
  });
  afterEach(async () => {
    registry.layerFault = undefined;
    registry.closed = false;
    expect(await installation.clean()).toEqual([]);
  });
  afterAll(() => opened.disposeAsync());

  /** An image that no engine has seen, removed from the engine at the end. */
  async function added(rest: Partial<RegistryImage> = {}): Promise<string> {
    const name = registry.add({ layers: [small, await layerOf('large', size)], ...rest });
    return opened.use(removing(installation.docker, name)).name;
  }

  async function creating(
    image: string,
    signal = soon(),
    { provider } = installation,
    onProgress: (progress: StartProgress) => void = () => undefined,
  ): Promise<readonly StartProgress[]> {
    const told: StartProgress[] = [];
    const { spec } = new TestSandbox(provider, newSpec(image));
    await provider.create(spec, signal, (progress) => {
      told.push(progress);
      onProgress(progress);
    });
    await provider.destroy(spec, soon());
    return told;
  }

  /** The same, once it waits for the pull. */
  async function waiting(
    image: string,
    signal = soon(),
  ): Promise<{ readonly done: Promise<readonly StartProgress[]> }> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = creating(image, signal, installation, () => {
      resolve();
    });
    await Promise.race([promise, done]);
    return { done };
  }

  const asked = (image: string): readonly string[] => {
    const [name = ''] = image.slice(registry.host.length + 1).split(':');
    return registry.requests.filter((url) => url.includes(name));
  };

  /**
   * Layers are held back until the test lets them go on, whole or byte by byte; `asked` tells that the engine waits
   * for one, `closed` that it has hung up, which it does only when something comes.
   */
  function holdLayers(): {
    readonly asked: Promise<void>;
    readonly closed: Promise<void>;
    release(): void;
    trickle(): void;
  } {
    const held: [ServerResponse, Buffer][] = [];
    const asked = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    registry.layerFault = (_, response, bytes) => {
      begin(response, bytes);
      response.once('close', () => {
        if (!response.writableFinished) closed.resolve();
      });
      held.push([response, bytes]);
      asked.resolve();
    };
    return {
      asked: asked.promise,
      closed: closed.promise,
      release() {
        registry.layerFault = undefined;
        for (const [response, bytes] of held) response.end(bytes.subarray(1));
      },
      trickle() {
        for (const [response, bytes] of held) oneByOne(response, bytes, 1);
      },
    };
  }

  test('is pulled once, and how far that is gets told', async () => {
    const image = await added();
    const told = await creating(image);
    expect(told[0]).toMatchObject({ step: 'pulling_image', message: `pulling ${image}` });
    const last = told.at(-1);
    expect(last?.message).toMatch(/^pulled .*, 3\.0 MB in 2 layers$/);
    expect(last?.detail).toMatchObject({ image, layers: 2, layers_done: 2 });
    expect(last?.detail['bytes']).toBeGreaterThan(size);
    const before = asked(image).length;
    expect(await creating(image)).toEqual([]);
    expect(asked(image)).toHaveLength(before);
  });

  test('is pulled once for all who want it at the same time', async () => {
    const image = await added();
    const hold = holdLayers();
    const both = [await waiting(image), await waiting(image)];
    await hold.asked;
    hold.release();
    for (const { done } of both) expect((await done).at(-1)?.message).toContain('pulled');
    expect(asked(image).filter((url) => url.endsWith('/manifests/latest'))).toHaveLength(1);
  });

  test('is pulled on when one of two goes away, and no longer when both do', async () => {
    const image = await added();
    const hold = holdLayers();
    const gone = new AbortController();
    const leaver = await waiting(image, gone.signal);
    const stayer = await waiting(image);
    await hold.asked;
    gone.abort(new Error('gone away'));
    await expect(leaver.done).rejects.toThrow('gone away');
    hold.release();
    expect((await stayer.done).at(-1)?.message).toContain('pulled');

    const other = await added();
    const again = holdLayers();
    const goneToo = new AbortController();
    const last = await waiting(other, goneToo.signal);
    await again.asked;
    goneToo.abort(new Error('gone too'));
    await expect(last.done).rejects.toThrow('gone too');
    again.trickle();
    await again.closed;
  });

  test('is given up when the pull gets no further', async () => {
    await using impatient = await Installation.make(undefined, {
      pullLimits: { stalledMs: 1_500, totalMs: 60_000 },
    });
    const image = await added();
    holdLayers();
    await expect(creating(image, soon(), impatient)).rejects.toMatchObject({
      code: 'registry_unavailable',
      message: `pulling the image "${image}" made no progress for 1500 ms`,
    });
    registry.layerFault = (_, response, bytes) => {
      begin(response, bytes);
      response.destroy();
    };
    await expect(creating(image, soon(), impatient)).rejects.toMatchObject({
      code: 'registry_unavailable',
    });
  });

  test('is pulled although the connection breaks in between', async () => {
    const image = await added();
    registry.layerFault = (_, response, bytes) => {
      registry.layerFault = undefined;
      begin(response, bytes);
      response.destroy();
    };
    expect((await creating(image)).at(-1)?.message).toContain('pulled');
  });

  test('is pulled again for a sandbox of which only the files are left', async () => {
    const { provider, docker } = installation;
    const image = await added();
    await using sandbox = new TestSandbox(provider, newSpec(image));
    await provider.create(sandbox.spec, soon());
    await sandbox.write('kept', Buffer.from('kept'));
    await provider.stop(sandbox.spec, soon());
    await installation.removeContainer(sandbox.spec);
    await docker.getImage(image).remove();
    const told: StartProgress[] = [];
    await provider.resume(sandbox.spec, sandbox.spec, soon(), (progress) => told.push(progress));
    expect(told.at(-1)?.message).toContain('pulled');
    expect((await sandbox.read('kept')).toString()).toBe('kept');
  });

  const bad: readonly (readonly [string, string, () => string | Promise<string>])[] = [
    ['is in no registry', 'image_not_found', () => `${registry.host}/no/such:image`],
    ['is in no repository', 'image_not_found', () => `${registry.host}/no/such`],
    // A port that no program chooses.
    ['has no registry', 'registry_unavailable', () => '127.0.0.1:1/a'],
    ['has a bad name', 'invalid_value', () => 'Not An Image'],
    ['is built by set-up', 'image_not_found', () => 'emergent-workspace:never-built'],
    ['is for another CPU', 'image_unsuitable', () => added(foreign)],
    ['has no variant', 'image_unsuitable', () => added({ ...foreign, onlyListed: true })],
    ['is denied', 'image_access_denied', denied],
  ];
  const foreign = { architecture: 's390x' };

  function denied(): string {
    registry.closed = true;
    return `${registry.host}/my/own`;
  }

  test.for(bad)('one that %s is %s', async ([, code, named]) => {
    const image = await named();
    const failure: unknown = await creating(image).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code });
    expect(failure).toHaveProperty('message', expect.stringContaining(image));
    const { docker } = installation;
    const there = (await docker.listImages()).flatMap(({ RepoTags }) => RepoTags ?? []);
    expect(there).not.toContain(image);
  });
});

function oneByOne(response: ServerResponse, bytes: Buffer, at: number): void {
  if (response.destroyed || at === bytes.length) return;
  response.write(bytes.subarray(at, at + 1), () => {
    setImmediate(oneByOne, response, bytes, at + 1);
  });
}

/** The head and one byte. */
function begin(response: ServerResponse, bytes: Buffer): void {
  response.writeHead(200, { 'content-length': bytes.length });
  response.write(bytes.subarray(0, 1));
}
