import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { arch } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

import { reasonOf } from '../../base/reason.ts';
import { cacheDir } from '../paths.ts';
import { findProgram } from '../programs.ts';
import type { RootAccess } from '../root.ts';
import { runOk } from '../run.ts';
import { aptInstall } from '../setup/apt.ts';
import { download } from '../setup/download.ts';
import { SetupError } from '../setup/step.ts';
import type { Note } from '../setup/step.ts';
import { cachedGoRoot, goVersion, pinnedGo } from './find.ts';
import type { GoToolchain } from './find.ts';

/** SHA-256 of the release archives, and the module hashes of the same releases as the toolchain module. */
const releases: Readonly<Record<string, { goArch: string; sha256: string; moduleSum: string }>> = {
  x64: {
    goArch: 'amd64',
    sha256: 'ffb5f8de10c62550dfddab66b36b57030721e0a44a3218e9e1181d7b59f121ca',
    moduleSum: 'h1:BbG1DRIqH1ZVMRnQg/4M6jtOJjMFUusUjI+kXRBWqE8=',
  },
  arm64: {
    goArch: 'arm64',
    sha256: '5a4ec883379d51ee9ce1040d5e87f8d35e20387574dd8c947feb01eabc3c1b37',
    moduleSum: 'h1:3daC5cZuthisv2y8yd9iERt0sN0KIW5fFKNTbnxpDEA=',
  },
};

const moduleSchema = z.object({ Dir: z.string(), Sum: z.string() });

/** Puts the pinned Go into our cache: from its release, otherwise as a module fetched by an older Go. */
export async function installGo(
  root: RootAccess,
  note: Note,
  signal: AbortSignal,
): Promise<GoToolchain> {
  const release = releases[arch()];
  if (!release) throw new Error(`no Go release is pinned for the architecture ${arch()}`);
  await mkdir(cacheDir(), { recursive: true });
  const draft = await mkdtemp(join(cacheDir(), '.go-'));
  const failures: string[] = [];
  const ways = [
    { name: 'release', fetch: () => fromRelease(release, draft, note, signal) },
    { name: 'module', fetch: () => fromModule(release, draft, root, note, signal) },
  ];
  try {
    for (const way of ways) {
      try {
        return await putInPlace(await way.fetch(), signal);
      } catch (error) {
        signal.throwIfAborted();
        failures.push(`${way.name}: ${reasonOf(error)}`);
        note(reasonOf(error));
      }
    }
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  throw new SetupError(
    `no Go ${pinnedGo} could be had (${failures.join('; ')})`,
    `install Go ${pinnedGo} or newer and put it on the PATH`,
  );
}

type Release = (typeof releases)[string];

async function fromRelease(
  release: Release,
  draft: string,
  note: Note,
  signal: AbortSignal,
): Promise<string> {
  const url = `https://dl.google.com/go/go${pinnedGo}.linux-${release.goArch}.tar.gz`;
  const archive = join(draft, 'go.tar.gz');
  note(`downloading Go ${pinnedGo}`);
  await download(url, release.sha256, archive, note, signal);
  note('unpacking');
  await runOk(['tar', '-xzf', archive, '-C', draft], { timeoutMs: 5 * 60_000, signal });
  return join(draft, 'go');
}

/** Every Go release is also a module, so wherever Go modules can be fetched, any old Go can fetch a new one. */
async function fromModule(
  release: Release,
  draft: string,
  root: RootAccess,
  note: Note,
  signal: AbortSignal,
): Promise<string> {
  if ((await findProgram('go')) === undefined) {
    note('installing the distribution’s Go to fetch a newer one with');
    await aptInstall(['golang-go'], root, note, signal);
  }
  const name = `golang.org/toolchain@v0.0.1-go${pinnedGo}.linux-${release.goArch}`;
  note(`downloading ${name}`);
  const { stdout } = await runOk(['go', 'mod', 'download', '-json', name], {
    timeoutMs: 10 * 60_000,
    cwd: draft,
    // The hash pinned above is stricter than the checksum database, which may be out of reach.
    env: {
      GOMODCACHE: join(draft, 'modules'),
      GOFLAGS: '-modcacherw',
      GONOSUMDB: 'golang.org/toolchain',
      GO111MODULE: 'on',
      GOTOOLCHAIN: 'local',
    },
    signal,
  });
  const module = moduleSchema.parse(JSON.parse(stdout));
  if (module.Sum !== release.moduleSum) {
    throw new Error(`${name} has the hash ${module.Sum}, not the expected ${release.moduleSum}`);
  }
  await makeExecutable(join(module.Dir, 'bin'));
  await makeExecutable(join(module.Dir, 'pkg/tool'));
  return module.Dir;
}

/** Module archives carry no permissions. */
async function makeExecutable(directory: string): Promise<void> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile())) {
    await chmod(join(entry.parentPath, entry.name), 0o755);
  }
}

async function putInPlace(goRoot: string, signal: AbortSignal): Promise<GoToolchain> {
  const target = cachedGoRoot();
  await rm(target, { recursive: true, force: true });
  await rename(goRoot, target);
  const path = join(target, 'bin/go');
  const version = await goVersion(path, signal);
  if (version !== undefined) return { path, version };
  await rm(target, { recursive: true, force: true });
  throw new Error('the Go that was fetched does not start');
}
