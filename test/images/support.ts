import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { tarOf } from '../../src/base/tar.ts';
import type { TarFile } from '../../src/base/tar.ts';
import { runOk } from '../../src/host/run.ts';

export type TestImage = AsyncDisposable & { readonly name: string };

/** Removes the image when it is no longer needed; one that is gone, or never came, needs no removing. */
export function removing(docker: Docker, name: string): TestImage {
  return {
    name,
    async [Symbol.asyncDispose]() {
      await docker
        .getImage(name)
        .remove({ force: true })
        .catch((error: unknown) => {
          if (!(error instanceof Error && 'statusCode' in error && error.statusCode === 404)) {
            throw error;
          }
        });
    },
  };
}

/** An image of these files alone, with these lines of a Dockerfile. */
export async function imageOf(
  docker: Docker,
  files: readonly TarFile[],
  changes: readonly string[] = [],
): Promise<TestImage> {
  const name = `emergent-test-${randomUUID()}`;
  const context = await tarOf([
    ...files.map((file) => ({ ...file, name: `files/${file.name}` })),
    { name: 'files/keep', mode: 0o644, content: Buffer.alloc(0) },
    dockerfile(['FROM scratch', 'COPY files/ /', ...changes]),
  ]);
  return build(docker, name, context);
}

/** The base image with these lines of a Dockerfile behind it. */
export async function imageFrom(
  docker: Docker,
  base: string,
  changes: readonly string[],
): Promise<TestImage> {
  const context = await tarOf([dockerfile([`FROM ${base}`, ...changes])]);
  return build(docker, `emergent-test-${randomUUID()}`, context);
}

function dockerfile(lines: readonly string[]): TarFile {
  return { name: 'Dockerfile', mode: 0o644, content: Buffer.from(`${lines.join('\n')}\n`) };
}

async function build(docker: Docker, name: string, context: Buffer): Promise<TestImage> {
  const report = await docker.buildImage(Readable.from([context]), {
    ...{ t: name, forcerm: true },
    // Layers that images share would outlive the first of them.
    nocache: true,
  });
  const lines = await new Response(Readable.toWeb(Readable.from(report))).text();
  if (lines.includes('"errorDetail"')) throw new Error(lines);
  return removing(docker, `${name}:latest`);
}

/** Bytes that no compression makes smaller, as one file of an archive. */
export async function layerOf(name: string, bytes: number): Promise<Buffer> {
  return tarOf([{ name, mode: 0o644, content: randomBytes(bytes) }]);
}

/** Says who and where it is; a word on its command line is said back. */
const source = `
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  char cwd[4096];
  gid_t groups[64];
  int count = getgroups(64, groups);
  const char *home = getenv("HOME");
  printf("uid=%d gid=%d groups=", (int)getuid(), (int)getgid());
  for (int i = 0; i < count; i++) printf("%s%d", i ? "," : "", (int)groups[i]);
  printf(" home=%s cwd=%s", home ? home : "none", getcwd(cwd, sizeof cwd) ? cwd : "none");
  printf(" said=%s\\n", argc > 1 ? argv[1] : "nothing");
  return 0;
}
`;

/** That program, as the compiler makes it: `gcc -static`, or `musl-gcc`. */
export async function compiled(...compiler: readonly [string, ...string[]]): Promise<Buffer> {
  const directory = await mkdtemp(join(tmpdir(), 'emergent-program-'));
  try {
    const file = join(directory, 'main.c');
    const out = join(directory, 'program');
    await writeFile(file, source);
    await runOk([...compiler, '-o', out, file], { timeoutMs: 60_000 });
    return await readFile(out);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
