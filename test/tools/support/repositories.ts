import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createReadStream } from 'node:fs';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type Docker from 'dockerode';
import { tarOf } from '../../../src/base/tar.ts';
import { runOk } from '../../../src/host/run.ts';

/** A bare repository on the host: `main` and `topic`, each with a file that names it. */
export interface TestRepository extends AsyncDisposable {
  readonly directory: string;
  /** Of each branch. */
  readonly commits: Readonly<Record<'main' | 'topic', string>>;
}

const identity = ['-c', 'user.name=x', '-c', 'user.email=x@example.com'];

export async function newRepository(): Promise<TestRepository> {
  const parent = await mkdtemp(join(tmpdir(), 'emergent-repository-'));
  const work = join(parent, 'work');
  const directory = join(parent, 'bare.git');
  const git = async (...args: string[]): Promise<string> =>
    (await runOk(['git', ...identity, ...args], { timeoutMs: 30_000 })).stdout.trim();
  await git('init', '-q', '-b', 'main', work);
  const commits = { main: '', topic: '' };
  for (const branch of ['main', 'topic'] as const) {
    if (branch === 'topic') await git('-C', work, 'checkout', '-qb', branch);
    await writeFile(join(work, 'branch.txt'), `${branch}\n`);
    await git('-C', work, 'add', '.');
    await git('-C', work, 'commit', '-qm', branch);
    commits[branch] = await git('-C', work, 'rev-parse', 'HEAD');
  }
  await git('-C', work, 'checkout', '-q', 'main');
  await git('clone', '-q', '--bare', work, directory);
  await git('-C', directory, 'update-server-info');
  return {
    directory,
    commits,
    [Symbol.asyncDispose]: () => rm(parent, { recursive: true, force: true }),
  };
}

/** An image that is `base` with the repository at `path`. */
export async function imageWith(
  docker: Docker,
  base: string,
  { directory }: TestRepository,
  path: string,
): Promise<AsyncDisposable & { readonly name: string }> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  // Git knows a repository by its directory of refs, which may be empty; an archive of files has no such.
  const refs = { name: join(path, 'refs/.keep').slice(1), mode: 0o644, content: Buffer.alloc(0) };
  const archive = await tarOf([
    refs,
    ...(await Promise.all(
      entries
        .filter((entry) => entry.isFile())
        .map(async (entry) => {
          const file = join(entry.parentPath, entry.name);
          const name = join(path, relative(directory, file)).slice(1);
          return { name, mode: 0o644, content: await readFile(file) };
        }),
    )),
  ]);
  const container = await docker.createContainer({ Image: base, Cmd: ['true'] });
  const name = `emergent-test-repository-${container.id.slice(0, 12)}`;
  try {
    await container.putArchive(archive, { path: '/' });
    await container.commit({ repo: name, tag: 'latest' });
  } finally {
    await container.remove({ force: true });
  }
  return {
    name: `${name}:latest`,
    async [Symbol.asyncDispose]() {
      await docker.getImage(`${name}:latest`).remove({ force: true });
    },
  };
}

/** Serves the files of a repository over HTTP on loopback, to whoever knows the user and the password. */
export async function serveRepository(
  { directory }: TestRepository,
  user: string,
  password: string,
): Promise<AsyncDisposable & { readonly host: string }> {
  const expected = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x');
    if (request.headers.authorization !== expected) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end();
      return;
    }
    const file = createReadStream(join(directory, pathname.replace(/^\/bare\.git/, '')));
    file.on('error', () => response.writeHead(404).end());
    file.pipe(response);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  return {
    host: `127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      const closed = Promise.withResolvers<void>();
      server.close(() => {
        closed.resolve();
      });
      await closed.promise;
    },
  };
}
