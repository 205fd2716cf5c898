import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cli } from '../cli/support/cli.ts';
import { ScenarioServer, resourcesOf } from '../scenarios/support.ts';
import type { ScenarioEvent } from '../scenarios/support.ts';
import { TestRegistry } from '../support/registry.ts';
import { newRepository, serveRepository } from '../tools/support/repositories.ts';
import { layerOf, removing } from './support.ts';

describe('creating a workspace from an image that must be pulled', () => {
  const opened = new AsyncDisposableStack();
  let registry: TestRegistry;
  let server: ScenarioServer;

  beforeAll(async () => {
    registry = opened.use(await TestRegistry.start());
    server = opened.use(await ScenarioServer.start());
  });
  afterAll(() => opened.disposeAsync());

  async function added(): Promise<string> {
    const name = registry.add({ layers: [await layerOf('file', 2_000_000)] });
    return opened.use(removing(server.docker, name)).name;
  }

  const emergent = (...args: string[]): Cli =>
    new Cli(args, { env: { EMERGENT_URL: server.url, EMERGENT_TOKEN: server.token } });

  test('its events tell how far the pull is', async () => {
    const image = await added();
    const { status, body } = await server.call('POST', '', { image });
    expect([status, body.status]).toEqual([201, 'ready']);
    expect(body).toHaveProperty('metadata.start_steps_ms.image');
    const listed = await server.callApi('GET', `/events?workspace_id=${body.id}&limit=100`);
    const events = (listed.body.items as unknown as ScenarioEvent[]).toReversed();
    const pulls = events.filter(({ detail }) => detail['step'] === 'pulling_image');
    expect(events.map(({ type }) => type)).toEqual([
      ...['workspace.creating', ...pulls.map(() => 'workspace.creating'), 'workspace.ready'],
    ]);
    expect(pulls[0]?.detail).toMatchObject({ message: `pulling ${image}`, image });
    expect(pulls.at(-1)?.detail).toMatchObject({
      ...{ message: `pulled ${image}, 2.0 MB in 1 layer`, layers: 1, layers_done: 1 },
    });
    await server.call('DELETE', `/${body.id}`);
  });

  test('the command line shows it on standard error, and the id alone on standard output', async () => {
    const image = await added();
    const { code, stdout, stderr } = await emergent('create', '--image', image).ended;
    expect([code, stderr]).toEqual([0, expect.stringContaining(`pulling ${image}`)]);
    expect(stderr).toContain(`created: gvisor, ${image}`);
    const { body } = await server.call('GET', `/${stdout.trim()}`);
    expect(body).toMatchObject({ status: 'ready', image });
    await server.call('DELETE', `/${stdout.trim()}`);
  });

  test('one that is nowhere leaves nothing but the reason', async () => {
    const image = `${registry.host}/no/such`;
    const refused = await server.call('POST', '', { image });
    expect([refused.status, refused.body.error.code]).toEqual([422, 'image_not_found']);
    const { code, stdout, stderr } = await emergent('create', '--image', image).ended;
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('is neither on the Docker engine nor in the registry');
    expect((await server.call('GET', '')).body.items).toEqual([]);

    const { body } = await server.call('POST', '?wait=false', { image });
    const failed = await server.event(body.id, 'workspace.error');
    expect(failed.detail['reason']).toContain('neither on the Docker engine nor in the registry');
    expect(await resourcesOf(server.docker, body.id)).toEqual([]);
    await server.call('DELETE', `/${body.id}`);
  });
});

test('the command line clones a repository and says what it has', async () => {
  await using repository = await newRepository();
  await using served = await serveRepository(repository, 'me', 'secret');
  await using server = await ScenarioServer.start({ EMERGENT_DEMO: '1' });
  const env = { EMERGENT_URL: server.url, EMERGENT_TOKEN: server.token };
  const given = ['--repo', `http://me:secret@${served.host}/bare.git`, '--branch', 'topic'];
  const run = ['run', ...given, '--', 'cat', 'branch.txt'];
  const { code, stdout, stderr } = await new Cli(run, { env }).ended;
  expect([code, stdout]).toEqual([0, 'topic\n']);
  const url = `http://${served.host}/bare.git`;
  expect(stderr).toContain(`cloning ${url}\n`);
  const commit = repository.commits.topic.slice(0, 12);
  expect(stderr).toContain(`cloned: ${url}, branch topic, commit ${commit}\n`);
  expect(stderr).not.toContain('secret');
  const created = await new Cli(['create', ...given], { env }).ended;
  expect(created.stderr).toContain(`cloned: ${url}, branch topic, commit ${commit}\n`);
  const wrong = await new Cli(['create', ...given, '--branch', 'gone'], { env }).ended;
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain('Remote branch gone not found');
});
