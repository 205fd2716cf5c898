import { mkdtemp, mkdir, rm } from 'node:fs/promises';
import { arch } from 'node:os';
import { join } from 'node:path';

import { findGo } from '../go/find.ts';
import { installGo } from '../go/install.ts';
import { cacheDir, systemDir } from '../paths.ts';
import { findProgram } from '../programs.ts';
import type { RootAccess } from '../root.ts';
import { run, runOk } from '../run.ts';
import { aptInstall } from '../setup/apt.ts';
import { download } from '../setup/download.ts';
import type { Note } from '../setup/step.ts';

/** A runsc binary and the arguments it is registered with. */
export interface RunscCandidate {
  readonly path: string;
  readonly arguments: readonly string[];
}

/** One way to come by a runsc; whether that one works is known only after a container ran under it. */
export interface RunscWay {
  readonly name: string;
  obtain(root: RootAccess, note: Note, signal: AbortSignal): Promise<RunscCandidate>;
}

const release = '20260622';
const checksums: Readonly<Record<string, { machine: string; sha256: string }>> = {
  x64: {
    machine: 'x86_64',
    sha256: 'f18a948bf9c8bbb54eb998549a3a8d719a1c7de2efbe8fdd2ff0ee5fecd06f19',
  },
  arm64: {
    machine: 'aarch64',
    sha256: '62eee121f8c188e347c428acc96f111568ede3be37b906046b6f28bbe2cc40c0',
  },
};

const goModule = 'gvisor.dev/gvisor/runsc';
const goModuleVersion = 'v0.0.0-20260701204157-69c2d17aea96';
/** From that module's go.mod. */
const goModuleNeedsGo = '1.26.3';

/** Best first. Old runscs fail on new kernels, so each candidate is tried before it is trusted. */
export const runscWays: readonly RunscWay[] = [
  { name: 'on the PATH', obtain: onPath },
  { name: 'official release', obtain: fromRelease },
  { name: 'Go module', obtain: fromGoModule },
  { name: "distribution's package", obtain: (...given) => fromPackage([], ...given) },
  {
    name: "distribution's package with the host's network stack",
    obtain: (...given) => fromPackage(['--network=host'], ...given),
  },
];

async function onPath(): Promise<RunscCandidate> {
  const path = await findProgram('runsc');
  if (path === undefined) throw new Error('there is none');
  return { path, arguments: await overlayArguments(path) };
}

async function fromRelease(
  root: RootAccess,
  note: Note,
  signal: AbortSignal,
): Promise<RunscCandidate> {
  const checksum = checksums[arch()];
  if (!checksum) throw new Error(`no release is pinned for the architecture ${arch()}`);
  note(`downloading runsc ${release}`);
  const base = 'https://storage.googleapis.com/gvisor/releases/release';
  return install(root, `release-${release}`, signal, async (file) => {
    await download(
      `${base}/${release}/${checksum.machine}/runsc`,
      checksum.sha256,
      file,
      note,
      signal,
    );
  });
}

async function fromGoModule(
  root: RootAccess,
  note: Note,
  signal: AbortSignal,
): Promise<RunscCandidate> {
  const go = (await findGo(goModuleNeedsGo, signal)) ?? (await installGo(root, note, signal));
  const version = goModuleVersion.replace(/^v0\.0\.0-/, 'go-');
  note('downloading and compiling gVisor');
  return install(root, version, signal, async (file, directory) => {
    const flags = (process.env['GOFLAGS'] ?? '')
      .split(' ')
      .filter((flag) => !flag.startsWith('-mod='));
    const stamp = `-X gvisor.dev/gvisor/runsc/version.version=${version}`;
    await runOk(
      [
        go.path,
        'install',
        '-trimpath',
        '-ldflags',
        `-s -w ${stamp}`,
        `${goModule}@${goModuleVersion}`,
      ],
      {
        timeoutMs: 15 * 60_000,
        cwd: directory,
        env: {
          GOBIN: directory,
          CGO_ENABLED: '0',
          GOTOOLCHAIN: 'local',
          GOFLAGS: [...flags, '-mod=mod'].join(' ').trim(),
        },
        onLine: note,
        signal,
      },
    );
    await runOk(['mv', '-f', join(directory, 'runsc'), file], { timeoutMs: 10_000, signal });
  });
}

async function fromPackage(
  extra: readonly string[],
  root: RootAccess,
  note: Note,
  signal: AbortSignal,
): Promise<RunscCandidate> {
  if ((await findProgram('runsc')) === undefined) await aptInstall(['runsc'], root, note, signal);
  const { path, arguments: overlay } = await onPath();
  return { path, arguments: [...overlay, ...extra] };
}

/** Fetches into a scratch directory and installs where the engine and every user can read it. */
async function install(
  root: RootAccess,
  version: string,
  signal: AbortSignal,
  fetchTo: (file: string, directory: string) => Promise<void>,
): Promise<RunscCandidate> {
  await mkdir(cacheDir(), { recursive: true });
  const directory = await mkdtemp(join(cacheDir(), '.runsc-'));
  try {
    const file = join(directory, 'runsc.bin');
    await fetchTo(file, directory);
    const path = join(systemDir, `runsc-${version}`, 'runsc');
    await root.installFile(file, path, '0755', signal);
    return { path, arguments: await overlayArguments(path) };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Without it, current versions keep what is written outside of volumes in memory, where it is lost on stop and
 * unseen by `docker cp`. Versions that do not know the flag write to the disk anyway.
 */
async function overlayArguments(path: string): Promise<string[]> {
  const flags = await run([path, 'flags'], { timeoutMs: 10_000 });
  return `${flags.stdout}${flags.stderr}`.includes('-overlay2') ? ['--overlay2=none'] : [];
}
