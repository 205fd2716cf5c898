import { describe, expect, test } from 'vitest';
import { Seal } from '../../../src/base/seal.ts';
import { EmergentError } from '../../../src/domain/errors.ts';
import type { ExecRequest } from '../../../src/domain/exec.ts';
import type { Workspace } from '../../../src/domain/workspace.ts';
import { eventually } from '../../support/eventually.ts';
import { FakeProcess } from './support/fake-process.ts';
import { FakeProvider } from './support/fake-provider.ts';
import { alice, never, request, setUp, workspaceIn } from './support/workspaces.ts';

const commit = 'c'.repeat(40);
const url = 'https://example.com/b.git';
const repository = { url, branch: 'topic', credentials: { user: 'me', password: 's3cret' } };
const wanted = { ...request, provider: 'fake', repository };

type Answer = (process: FakeProcess, subcommand: string) => void;

/** A git that succeeds, unless told otherwise, and notes what it was asked. */
function fakeGit(provider: FakeProvider, answer: Answer = succeed): ExecRequest[] {
  const calls: ExecRequest[] = [];
  provider.exec.mockImplementation(async (_ref, command) => {
    calls.push(command);
    const process = new FakeProcess();
    answer(process, command.argv.find((word) => subcommands.includes(word)) ?? '');
    return process;
  });
  return calls;
}

const subcommands = ['clone', 'for-each-ref', 'rev-parse', 'version'];

function succeed(process: FakeProcess, subcommand: string): void {
  if (subcommand === 'for-each-ref') process.print('x\n');
  if (subcommand === 'rev-parse') process.print(`${commit}\ntopic\n`);
  process.exit(0);
}

function refuse(process: FakeProcess): void {
  process.print("Cloning into '.'...\nfatal: repository not found\n", 'stderr');
  process.exit(128);
}

describe('a create with a repository', () => {
  test('clones it before the workspace is ready', async () => {
    const { workspaces, store, provider } = setUp();
    const calls = fakeGit(provider, (process, subcommand) => {
      expect([...store.rows.values()].map(({ status }) => status)).toEqual(['creating']);
      succeed(process, subcommand);
    });
    const created = await workspaces.create(alice, wanted, never());
    expect(created).toMatchObject({
      ...{ status: 'ready', repositoryUrl: url, branch: 'topic' },
      metadata: { purpose: 'test', repository: { commit, branch: 'topic' } },
    });
    expect(calls[0]?.argv.slice(-7)).toEqual([
      ...['clone', '--progress', '--branch', 'topic', '--', url, '.'],
    ]);
    expect(calls[0]?.workdir).toBeUndefined();
  });

  test('hands the credentials to that clone, and to nothing else', async () => {
    const { workspaces, store, provider, recorded } = setUp();
    const calls = fakeGit(provider);
    await workspaces.create(alice, wanted, never());
    const header = `Authorization: Basic ${Buffer.from('me:s3cret').toString('base64')}`;
    expect(calls[0]?.env).toMatchObject({
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_KEY_0: 'http.https://example.com/.extraHeader',
      GIT_CONFIG_VALUE_0: header,
    });
    expect(provider.create.mock.calls[0]?.[0].env).toEqual({ A: '1' });
    const rest = [calls.map(({ argv }) => argv), calls.slice(1), [...store.rows.values()]];
    const seen = JSON.stringify([...rest, provider.create.mock.calls, recorded]);
    for (const secret of ['s3cret', header, Buffer.from('s3cret').toString('base64')]) {
      expect(seen).not.toContain(secret);
    }
  });

  test('does not keep the credentials once the workspace is ready', async () => {
    const { workspaces, store, provider } = setUp();
    fakeGit(provider);
    const sealed: (string | null)[] = [];
    provider.create.mockImplementationOnce(async (spec) => {
      sealed.push(store.rows.get(spec.workspaceId)?.sealedEnv ?? null);
      return { limits: spec.limits, metadata: {} };
    });
    const created = await workspaces.create(alice, wanted, never());
    const seal = new Seal(new Uint8Array(32), 'test');
    expect(seal.open(sealed[0] ?? '')).toContain('s3cret');
    expect(JSON.parse(seal.open(created.sealedEnv ?? ''))).toEqual({ A: '1' });
    const { env: _, ...rest } = wanted;
    const bare = await workspaces.create(alice, { ...rest, env: {} }, never());
    expect(bare.sealedEnv).toBeNull();
  });

  test('keeps the credentials of one that must be recovered, and no longer', async () => {
    const { workspaces, store, provider } = setUp();
    fakeGit(provider, refuse);
    const { id } = await workspaces.create(alice, { ...wanted, wait: false }, never());
    await eventually(() => {
      expect(store.rows.get(id)?.status).toBe('error');
    });
    const calls = fakeGit(provider);
    const recovered = await workspaces.recover(alice, id);
    expect(JSON.stringify(calls[0]?.env)).toContain('Basic ');
    const seal = new Seal(new Uint8Array(32), 'test');
    expect(JSON.parse(seal.open(recovered.sealedEnv ?? ''))).toEqual({ A: '1' });
  });

  test('tells that it is cloning', async () => {
    const { workspaces, store, provider } = setUp();
    fakeGit(provider);
    const created = await workspaces.create(alice, wanted, never());
    expect(created.version).toBe(3);
    expect(store.rows.get(created.id)).toEqual(created);
  });

  test('an empty repository has no commit', async () => {
    const { workspaces, provider } = setUp();
    fakeGit(provider, (process) => {
      process.exit(0);
    });
    const created = await workspaces.create(alice, wanted, never());
    expect(created.metadata).toMatchObject({ repository: { commit: null, branch: null } });
  });

  test('that git refuses fails with what git said, and nothing stays', async () => {
    const { workspaces, store, provider } = setUp();
    fakeGit(provider, refuse);
    await expect(workspaces.create(alice, wanted, never())).rejects.toMatchObject({
      code: 'git_failed',
      message: 'git clone: fatal: repository not found',
      details: { exit_code: 128, stderr: expect.stringContaining('Cloning') as string },
    });
    expect([store.rows.size, provider.sandboxes.size]).toEqual([0, 0]);
  });

  test('is not tried on other providers: git would refuse it there too', async () => {
    const other = new FakeProvider('other', 'container');
    const { workspaces, provider } = setUp(new FakeProvider(), other);
    fakeGit(provider, refuse);
    const auto = { ...wanted, provider: 'auto' };
    await expect(workspaces.create(alice, auto, never())).rejects.toMatchObject({
      code: 'git_failed',
    });
    expect(other.create).not.toHaveBeenCalled();
  });

  test('in the background ends as an error with the reason, and nothing but the row stays', async () => {
    const { workspaces, store, provider } = setUp();
    const failed = Promise.withResolvers<void>();
    fakeGit(provider, refuse);
    provider.destroy.mockImplementation(async (ref) => {
      provider.sandboxes.delete(ref.sandboxName);
      failed.resolve();
    });
    const { id } = await workspaces.create(alice, { ...wanted, wait: false }, never());
    await failed.promise;
    await eventually(() => {
      expect(store.rows.get(id)?.status).toBe('error');
    });
    expect(store.rows.get(id)?.statusReason).toContain('git clone: fatal: repository not found');
    expect(provider.sandboxes.size).toBe(0);
  });

  test('without git in the image says so', async () => {
    const { workspaces, store, provider } = setUp();
    provider.exec.mockRejectedValue(new EmergentError('invalid_value', 'git: not found'));
    await expect(workspaces.create(alice, wanted, never())).rejects.toMatchObject({
      code: 'git_failed',
      message: 'there is no git in the image of this workspace',
    });
    expect(store.rows.size).toBe(0);
  });

  test('whose caller leaves ends git, and nothing stays', async () => {
    const { workspaces, store, provider } = setUp();
    const started = Promise.withResolvers<FakeProcess>();
    fakeGit(provider, (process) => {
      process.onEnd = () => {
        process.exit(143, 'SIGTERM');
      };
      started.resolve(process);
    });
    const leaving = new AbortController();
    const creating = workspaces.create(alice, wanted, leaving.signal);
    const refused = expect(creating).rejects.toMatchObject({ code: 'client_closed' });
    const process = await started.promise;
    leaving.abort(new EmergentError('client_closed', 'gone'));
    await refused;
    expect(process.ends).toHaveLength(1);
    expect([store.rows.size, provider.sandboxes.size]).toEqual([0, 0]);
  });
});

test('a create that another server began is finished with its clone', async () => {
  const first = setUp();
  const calls = fakeGit(first.provider);
  const rows: Workspace[] = [];
  first.provider.create.mockImplementationOnce(async (spec) => {
    rows.push(...first.store.rows.values());
    return { limits: spec.limits, metadata: {} };
  });
  await first.workspaces.create(alice, { ...wanted, wait: true }, never());
  // As the row stood when the server died: announced, and nothing made yet.
  const [found] = rows;
  if (!found) throw new Error('there was no row');
  const row = { ...found, announced: true };
  calls.length = 0;
  first.store.rows.set(row.id, row);
  for (const taken of await first.store.takeOver()) {
    await first.upkeep.finishCreate(taken);
  }
  expect(first.store.rows.get(row.id)).toMatchObject({ status: 'ready' });
  expect(calls[0]?.env).toHaveProperty('GIT_CONFIG_VALUE_0');
});

test('what never was ready is cloned when it is recovered, and what was ready is not', async () => {
  const setup = setUp();
  const calls = fakeGit(setup.provider);
  const fresh = workspaceIn(setup, 'error', { repositoryUrl: url, readyAt: null });
  expect(await setup.workspaces.recover(alice, fresh.id)).toMatchObject({ status: 'ready' });
  expect(calls[0]?.argv).toContain('clone');
  calls.length = 0;
  const was = workspaceIn(setup, 'error', { repositoryUrl: url });
  expect(await setup.workspaces.recover(alice, was.id)).toMatchObject({ status: 'ready' });
  expect(calls).toEqual([]);
});
