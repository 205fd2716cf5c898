import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ScenarioServer, everyProvider } from '../scenarios/support.ts';
import type { ScenarioEvent } from '../scenarios/support.ts';
import { testHost } from '../support/host.ts';
import { imageWith, newRepository, serveRepository } from './support/repositories.ts';
import type { TestRepository } from './support/repositories.ts';

const inImage = '/srv/bare.git';

interface Reach {
  readonly repository_url: string;
  readonly image?: string;
}

/** A sandbox sees nothing of the host: the repository is in an image, unless there is no sandbox. */
const reachable = {
  memory: async ({ directory }: TestRepository): Promise<Reach> => ({
    repository_url: `file://${directory}`,
  }),
  gvisor: async (repository: TestRepository, opened: AsyncDisposableStack): Promise<Reach> => {
    const { image: base } = await testHost();
    const image = opened.use(await imageWith(new Docker(), base, repository, inImage));
    return { repository_url: `file://${inImage}`, image: image.name };
  },
};

describe.for(everyProvider)('create with a repository on %s', ([name, settings]) => {
  let server: ScenarioServer;
  let repository: TestRepository;
  /** What a create needs to reach it. */
  let reach: Reach;
  const opened = new AsyncDisposableStack();

  beforeAll(async () => {
    repository = opened.use(await newRepository());
    server = opened.use(await ScenarioServer.start(settings));
    reach = await reachable[name](repository, opened);
  });
  afterAll(() => opened.disposeAsync());

  const git = (id: string, body: object) => server.call('POST', `/${id}/git`, body);

  test('holds the default branch, and says which commit', async () => {
    const created = await server.call('POST', '', reach);
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    expect(created.body).toMatchObject({
      ...{ status: 'ready', repository_url: reach.repository_url, branch: null },
      metadata: { repository: { commit: repository.commits.main, branch: 'main' } },
    });
    const { id } = created.body;
    expect((await git(id, { action: 'status' })).body).toMatchObject({
      ...{ branch: 'main', commit: repository.commits.main, upstream: 'origin/main', clean: true },
    });
    const found = await server.call('POST', `/${id}/grep`, { pattern: '^main$' });
    expect(found.body).toMatchObject({ matches: [{ path: '/workspace/branch.txt', line: 1 }] });
    const globbed = await server.call('POST', `/${id}/glob`, { pattern: '**' });
    expect(globbed.body).toMatchObject({ total: 1, matches: [{ path: '/workspace/branch.txt' }] });
    const checkout = await git(id, { action: 'checkout', ref: 'topic' });
    expect(checkout.body).toMatchObject({ branch: 'topic', commit: repository.commits.topic });
    const { body } = await server.callApi('GET', `/events?workspace_id=${id}&limit=100`);
    const events = (body.items as unknown as ScenarioEvent[]).toReversed();
    const types = events.map(({ type }) => type);
    // Those of its progress come as fast as git is slow.
    const creating = types.findLastIndex((type) => type === 'workspace.creating');
    expect(new Set(types.slice(0, creating + 1))).toEqual(new Set(['workspace.creating']));
    expect(types.slice(creating + 1)).toEqual([
      ...['workspace.ready', 'tool.git', 'tool.grep', 'tool.glob', 'tool.git'],
    ]);
    for (const { detail } of events.slice(2, creating + 1)) {
      expect(detail).toMatchObject({ step: 'cloning', percent: expect.any(Number) as unknown });
    }
    expect(events[1]?.detail).toMatchObject({
      step: 'cloning',
      repository_url: reach.repository_url,
    });
    expect(events.at(-1)?.detail).toMatchObject({ subject: 'git checkout topic', result: 'ok' });
    await server.call('DELETE', `/${id}`);
  });

  test('holds the branch that was asked for', async () => {
    const { body } = await server.call('POST', '', { ...reach, branch: 'topic' });
    expect(body).toMatchObject({ branch: 'topic', metadata: { repository: { branch: 'topic' } } });
    expect((await git(body.id, { action: 'status' })).body).toMatchObject({ branch: 'topic' });
    await server.call('DELETE', `/${body.id}`);
  });

  test('fails with what git said, and nothing stays', async () => {
    const { status, body } = await server.call('POST', '', { ...reach, branch: 'gone' });
    expect(status).toBe(422);
    expect(body.error).toMatchObject({
      code: 'git_failed',
      message: 'git clone: fatal: Remote branch gone not found in upstream origin',
    });
    const { body: list } = await server.call('GET', '');
    expect(list.items).toEqual([]);
  });

  test('fails in the background with the reason, and can be recovered no better', async () => {
    const wanted = { ...reach, branch: 'gone' };
    const { status, body } = await server.call('POST', '?wait=false', wanted);
    expect(status).toBe(202);
    await server.event(body.id, 'workspace.error');
    const { body: row } = await server.call('GET', `/${body.id}`);
    expect(row).toMatchObject({ status: 'error' });
    expect(row.status_reason).toContain('Remote branch gone not found');
    const recovered = await server.call('POST', `/${body.id}/recover`, {});
    expect(recovered.body.error).toMatchObject({ code: 'git_failed' });
    await server.call('DELETE', `/${body.id}`);
  });
});

test('credentials in the URL reach the server, and nobody else', async () => {
  await using repository = await newRepository();
  await using served = await serveRepository(repository, 'me', 'p@ss/word');
  await using server = await ScenarioServer.start({ EMERGENT_DEMO: '1' });
  const url = `http://${served.host}/bare.git`;
  const refused = await server.call('POST', '', { repository_url: url });
  expect(refused.body.error).toMatchObject({ code: 'git_failed' });
  const wrong = url.replace('//', '//me:wrong-s3cret@');
  const denied = await server.call('POST', '', { repository_url: wrong });
  expect(denied.body.error).toMatchObject({ code: 'git_failed' });
  expect(JSON.stringify(denied.body)).not.toContain('s3cret');

  const secret = url.replace('//', '//me:p%40ss%2Fword@');
  const created = await server.call('POST', '', { repository_url: secret });
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  expect(created.body).toMatchObject({ repository_url: url });
  const { id } = created.body;
  const { body } = await server.callApi('GET', `/events?workspace_id=${id}&limit=100`);
  const inside = await server.call('POST', `/${id}/bash`, {
    command: 'env; cat .git/config; git remote -v; cat .git/logs/HEAD',
  });
  const seen = JSON.stringify([created.body, body, inside.body]);
  expect(seen).toContain(served.host);
  const encoded = Buffer.from('me:p@ss/word').toString('base64');
  for (const part of ['p@ss', 'p%40ss', encoded, 'CREDENTIALS']) expect(seen).not.toContain(part);
});
