import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GitRequest, GitResult } from '../../src/domain/git.ts';
import { runGit } from '../../src/engine/tools/git.ts';
import { soon } from '../conformance/sandbox.ts';
import type { TestSandbox } from '../conformance/sandbox.ts';
import { newSandbox, prepare } from './support/sandboxes.ts';
import type { ToolBench } from './support/sandboxes.ts';

const author = { name: 'A Test', email: 'test@example.com' };
const names = ['a b', `it's "quoted"`, 'new\nline', '-n', '$(touch pwned)', ':(glob)*', 'ü'];

/** The git tool on real repositories in a sandbox, with the same values on every provider. */
export function gitSuite(name: string, open: () => Promise<ToolBench>): void {
  describe(`git on ${name}`, { meta: { runsOn: name } }, () => {
    let bench: ToolBench;
    let sandbox: TestSandbox;
    beforeAll(async () => {
      bench = await open();
      sandbox = await newSandbox(bench);
      await prepare(sandbox, 'git init -q --bare --initial-branch=main served.git');
    });
    afterAll(async () => {
      await sandbox.destroy();
      await bench[Symbol.asyncDispose]();
    });

    const git = (request: GitRequest): Promise<GitResult> =>
      runGit({ provider: bench.provider, ref: sandbox.spec }, request, soon());
    const commit = (path: string, message: string): Promise<GitResult> =>
      git({ action: 'commit', path, message, all: true, files: [], author });
    /** A repository of the test's own, with one commit. */
    const repository = async (path: string): Promise<void> => {
      await prepare(sandbox, `git init -q -b main ${path}; printf 'one\\ntwo\\n' > ${path}/file`);
      await commit(path, 'first');
    };

    test('status of an empty repository, with every kind of name', async () => {
      await prepare(sandbox, 'git init -q -b main names');
      for (const each of names) await sandbox.write(`names/${each}`, Buffer.from('x'));
      await prepare(sandbox, `: > "names/$(printf 'bad\\377')"`);
      const status = await git({ action: 'status', path: 'names' });
      expect(status).toMatchObject({
        ...{ action: 'status', commit: null, branch: 'main', upstream: null, ahead: 0, behind: 0 },
        ...{ clean: false, truncated: false },
      });
      const files = status.action === 'status' ? status.files : [];
      const kind = { kind: 'untracked', index: '.', worktree: '?' };
      expect(files).toHaveLength(names.length + 1);
      expect(files).toEqual(
        expect.arrayContaining([
          ...names.map((path) => ({ path, escaped: false, ...kind })),
          { path: 'bad\\xff', escaped: true, ...kind },
        ]),
      );
    });

    test('commits only the named files, whatever they are called', async () => {
      await prepare(sandbox, 'git init -q -b main named; : > named/other');
      for (const each of names) await sandbox.write(`named/${each}`, Buffer.from('x\n'));
      const absolute = names.map((each, index) => (index % 2 ? each : `/workspace/named/${each}`));
      const message = '# kept\n\n$(touch pwned)';
      const result = await git({
        ...{ action: 'commit', path: 'named', message, all: false, files: absolute, author },
      });
      const files = names.map((path) => ({ path, escaped: false, added: 1, deleted: 0 }));
      expect(result).toEqual({
        action: 'commit',
        branch: 'main',
        commit: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
        files: expect.arrayContaining(files) as unknown,
      });
      expect(await git({ action: 'status', path: 'named' })).toMatchObject({
        files: [{ path: 'other', kind: 'untracked' }],
      });
      const { stdout } = await sandbox.sh('cd named; git log -1 --format="%an <%ae>%n%B"');
      expect(stdout.toString()).toBe(`A Test <test@example.com>\n${message}\n\n`);
    });

    test('status and diff of what was changed, renamed and staged', async () => {
      await repository('changed');
      await prepare(
        sandbox,
        `cd changed; seq 50 > long; printf '\\0' > binary; git add .; git -c user.name=x -c user.email=x commit -qm more
         git mv long 'moved here'; printf 'one\\n2\\n' > file; printf '\\1\\0' > binary; git add binary`,
      );
      expect(await git({ action: 'status', path: 'changed' })).toMatchObject({
        clean: false,
        files: [
          { path: 'binary', kind: 'changed', index: 'M', worktree: '.' },
          { path: 'file', kind: 'changed', index: '.', worktree: 'M' },
          { path: 'moved here', kind: 'renamed', index: 'R', worktree: '.', from: 'long' },
        ],
      });
      const diff = { action: 'diff', path: 'changed', files: [] } as const;
      const unstaged = await git({ ...diff, staged: false });
      expect(unstaged).toMatchObject({
        files: [{ path: 'file', added: 1, deleted: 1 }],
        patch: expect.stringContaining('-two\n+2\n') as string,
        truncated: false,
      });
      expect(await git({ ...diff, staged: true })).toMatchObject({
        files: [
          { path: 'binary', added: null, deleted: null },
          { path: 'moved here', from: 'long', added: 0, deleted: 0 },
        ],
      });
      expect(await git({ ...diff, staged: false, ref: 'HEAD~1', files: ['file'] })).toMatchObject({
        files: [{ path: 'file' }],
      });
      const back = { action: 'checkout', path: 'changed', create: false, files: ['file'] } as const;
      await git(back);
      expect(await git({ ...diff, staged: false })).toMatchObject({ files: [], patch: '' });
    });

    test('a diff of 2 MB is cut, and says so', async () => {
      await repository('large');
      await prepare(sandbox, 'seq 300000 > large/file');
      const result = await git({
        ...{ action: 'diff', path: 'large', staged: false, files: [] },
      });
      expect(result).toMatchObject({ truncated: true, files: [{ added: 300_000, deleted: 2 }] });
      expect(result.action === 'diff' && result.patch.length).toBe(200 * 1024);
    });

    test('branches, pushes and pulls', async () => {
      const url = 'file://$PWD/served.git';
      await repository('here');
      await prepare(sandbox, `git -C here remote add origin "${url}"`);
      const push = { action: 'push', path: 'here', force: false } as const;
      expect(await git({ ...push, setUpstream: true })).toMatchObject({
        action: 'push',
        refs: [{ status: 'created', to: 'refs/heads/main' }],
      });
      await prepare(sandbox, `git clone -q "${url}" there; echo three >> here/file`);
      const second = await commit('here', 'second');
      expect(await git({ action: 'status', path: 'here' })).toMatchObject({
        ...{ branch: 'main', upstream: 'origin/main', ahead: 1, behind: 0, clean: true },
      });
      const pushed = await git({ ...push, setUpstream: false });
      expect(pushed).toMatchObject({ refs: [{ status: 'updated', from: 'refs/heads/main' }] });
      expect(await git({ ...push, setUpstream: false })).toMatchObject({
        refs: [{ status: 'up_to_date' }],
      });
      const pull = { action: 'pull', path: 'there', strategy: 'ff-only' } as const;
      const head = second.action === 'commit' ? second.commit : '';
      expect(await git(pull)).toMatchObject({ commit: head, branch: 'main', updated: true });
      expect(await git(pull)).toMatchObject({ commit: head, before: head, updated: false });

      const checkout = { action: 'checkout', path: 'there', files: [] } as const;
      const topic = { ...checkout, ref: 'topic/x', create: true, startPoint: 'HEAD~1' };
      expect(await git(topic)).toMatchObject({ action: 'checkout', branch: 'topic/x' });
      await prepare(sandbox, 'echo other > there/other');
      await commit('there', 'on a topic');
      const named = { ...push, path: 'there', setUpstream: false, remote: 'origin' } as const;
      expect(await git({ ...named, branch: 'topic/x' })).toMatchObject({
        refs: [{ status: 'created', to: 'refs/heads/topic/x' }],
      });
      const detached = await git({ ...checkout, ref: head ?? '', create: false });
      expect(detached).toEqual({ action: 'checkout', branch: null, commit: head });
      const rejected = git({ ...named, branch: 'HEAD~1:main' });
      await expect(rejected).rejects.toMatchObject({
        code: 'git_failed',
        details: { exit_code: 1, stdout: expect.stringContaining('[rejected]') as string },
      });
    });

    test.each<[string, GitRequest]>([
      ['not a git repository', { action: 'status', path: 'nothing' }],
      [
        'nothing to commit',
        { action: 'commit', path: 'failing', message: 'm', all: true, files: [], author },
      ],
      ['gone', { action: 'checkout', path: 'failing', ref: 'gone', create: false, files: [] }],
      ['gone', { action: 'diff', path: 'failing', staged: false, ref: 'gone', files: [] }],
      ['origin', { action: 'pull', path: 'failing', remote: 'origin', strategy: 'ff-only' }],
      ['origin', { action: 'push', path: 'failing', setUpstream: true, force: false }],
    ])('what git refuses: %s', async (says, request) => {
      await prepare(sandbox, failing);
      await expect(git(request)).rejects.toMatchObject({
        code: 'git_failed',
        message: expect.stringContaining(says) as string,
        details: { exit_code: expect.any(Number) as number },
      });
    });

    test('a directory that is not there', async () => {
      await expect(git({ action: 'status', path: 'gone' })).rejects.toMatchObject({
        code: 'invalid_value',
        message: expect.stringContaining('gone') as string,
      });
    });

    test('credentials in a URL are not in what git says', async () => {
      await prepare(
        sandbox,
        `${failing}; git -C failing remote add secret https://user:s3cret@127.0.0.1:1/x.git`,
      );
      const pull = {
        action: 'pull',
        path: 'failing',
        remote: 'secret',
        strategy: 'merge',
      } as const;
      const failure = await git(pull).then(
        () => undefined,
        (error: unknown) => error as Error & { details: unknown },
      );
      expect(failure).toMatchObject({ code: 'git_failed' });
      expect(`${failure?.message ?? ''} ${JSON.stringify(failure?.details)}`).toContain(
        '127.0.0.1',
      );
      expect(`${failure?.message ?? ''} ${JSON.stringify(failure?.details)}`).not.toContain(
        's3cret',
      );
    });

    test('nothing was run', async () => {
      const { stdout } = await sandbox.sh('find . -name pwned');
      expect(stdout.toString()).toBe('');
    });
  });
}

/** A repository with one commit and nothing else, and a directory that is none. */
const failing = `mkdir -p nothing; test -d failing || {
  git init -q failing
  git -C failing -c user.name=x -c user.email=x commit -qm x --allow-empty
}`;
