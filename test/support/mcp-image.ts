import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import Docker from 'dockerode';
import { followProgress } from '../../src/host/docker/progress.ts';
import { cacheDir } from '../../src/host/paths.ts';
import { isExecutable } from '../../src/host/programs.ts';
import { childExit, runOk } from '../../src/host/run.ts';
import { lockSetup } from '../../src/host/setup/lock.ts';
import { testHost } from './host.ts';
import { projectRoot } from './server-process.ts';

/** Images with MCP servers in them. Each is named by what it is made of, so one that is there is never stale. */
export interface McpImages {
  /** The rogue alone, as its entry point: small, and starts in milliseconds. */
  readonly rogue: string;
  /** The workspace image with Node.js and the reference servers on its PATH; names no program of its own. */
  readonly reference: string;
  /** The rogue in an image with a user, a working directory, an environment and arguments of its own. */
  readonly keeper: string;
  /** The reference server `memory`, as an image of its own; a user without rights keeps its file in /data. */
  readonly memory: string;
  /** The rogue as a program of this host. */
  readonly rogueProgram: string;
  /** Where the reference servers lie on this host: `node_modules`. */
  readonly packages: string;
}

const repository = 'emergent-mcp-test';
const rogueSources = join(projectRoot, 'test/mcp/rogue');
const packageFiles = join(projectRoot, 'test/mcp/image');
const buildMs = 170_000;

let made: Promise<McpImages> | undefined;

/** Made by whoever asks first on this machine; then only looked for. */
export function mcpImages(): Promise<McpImages> {
  made ??= make();
  return made;
}

async function make(): Promise<McpImages> {
  const host = await testHost();
  if (host.go === null) throw new Error('no Go toolchain to compile the rogue with');
  const signal = AbortSignal.timeout(buildMs);
  await using _lock = await lockSetup(() => undefined, signal, 'emergent-mcp-images');
  const docker = new Docker();
  const rogueProgram = await compiledRogue(host.go, signal);
  const packages = await installedPackages(signal);
  const rogue = await built(docker, signal, 'rogue', [['rogue', rogueProgram]], (files) => [
    'FROM scratch',
    `COPY ${files} /`,
    'ENTRYPOINT ["/rogue"]',
  ]);
  const keeper = await built(docker, signal, 'keeper', [], () => [
    `FROM ${rogue}`,
    'WORKDIR /srv/keeper',
    'USER 1234:1235',
    'ENV KEPT=by-the-image GIVEN=by-the-image',
    'CMD ["--code", "7"]',
  ]);
  const servers = [
    ['opt/mcp/node_modules', packages],
    ['usr/local/bin/node', process.execPath],
    ['usr/local/bin/rogue', rogueProgram],
  ] as const;
  const reference = await built(docker, signal, 'reference', servers, (files) => [
    `FROM ${host.image}`,
    `COPY ${files} /`,
    'ENV PATH=/opt/mcp/node_modules/.bin:$PATH',
  ]);
  const memory = await built(docker, signal, 'memory', [], () => [
    `FROM ${reference}`,
    'RUN useradd --uid 1234 keeper && install -d -o keeper /data',
    'ENV MEMORY_FILE_PATH=/data/memory.jsonl',
    'USER keeper',
    'ENTRYPOINT ["mcp-server-memory"]',
  ]);
  return { rogue, keeper, reference, memory, rogueProgram, packages };
}

/** Keyed by its sources; it appears in the cache when it is whole. */
async function compiledRogue(go: string, signal: AbortSignal): Promise<string> {
  const key = await hashOfFiles(rogueSources);
  const directory = join(cacheDir(), 'mcp-test', `rogue-${key}`);
  const program = join(directory, 'rogue');
  if (await isExecutable(program)) return program;
  await appearing(directory, async (draft) => {
    const output = ['-trimpath', '-buildvcs=false', '-ldflags', '-s -w -buildid=', '-o'];
    await runOk([go, 'build', ...output, join(draft, 'rogue'), '.'], {
      cwd: rogueSources,
      env: { CGO_ENABLED: '0', GOOS: 'linux', GOFLAGS: '', GOTOOLCHAIN: 'local', GOWORK: 'off' },
      timeoutMs: buildMs,
      signal,
    });
  });
  return program;
}

/** The reference servers as their lock file has them, byte for byte; from npm, once. */
async function installedPackages(signal: AbortSignal): Promise<string> {
  const key = await hashOfFiles(packageFiles);
  const directory = join(cacheDir(), 'mcp-test', `packages-${key}`);
  const packages = join(directory, 'node_modules');
  if (await isExecutable(join(packages, '.bin/mcp-server-everything'))) return packages;
  await appearing(directory, async (draft) => {
    for (const name of ['package.json', 'package-lock.json']) {
      await copyFile(join(packageFiles, name), join(draft, name));
    }
    await runOk(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: draft,
      timeoutMs: buildMs,
      signal,
    });
  });
  return packages;
}

/** A directory that is there whole or not at all. */
async function appearing(directory: string, fill: (draft: string) => Promise<void>): Promise<void> {
  const parent = join(directory, '..');
  await mkdir(parent, { recursive: true });
  const draft = await mkdtemp(join(parent, '.draft-'));
  try {
    await fill(draft);
    await rm(directory, { recursive: true, force: true });
    await rename(draft, directory);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function hashOfFiles(directory: string): Promise<string> {
  const hash = createHash('sha256');
  for (const name of (await readdir(directory)).sort()) {
    hash.update(`${name}\n`).update(await readFile(join(directory, name)));
  }
  return hash.digest('hex').slice(0, 12);
}

/** An image of files at these places, under a Dockerfile; unless there is one of the same words already. */
async function built(
  docker: Docker,
  signal: AbortSignal,
  name: string,
  files: readonly (readonly [place: string, source: string])[],
  dockerfile: (files: string) => readonly string[],
): Promise<string> {
  const lines = `${dockerfile('files').join('\n')}\n`;
  // The sources lie in directories that are named by what is in them.
  const words = [process.version, lines, ...files.flat()].join('\n');
  const key = createHash('sha256').update(words).digest('hex').slice(0, 12);
  const tag = `${repository}:${name}-${key}`;
  const known = await docker.listImages({ filters: { reference: [tag] } });
  if (known.length > 0) return tag;
  const context = await mkdtemp(join(cacheDir(), 'mcp-test', '.context-'));
  try {
    await writeFile(join(context, 'Dockerfile'), lines);
    await mkdir(join(context, 'files'));
    for (const [place, source] of files) {
      await cp(source, join(context, 'files', place), { recursive: true, verbatimSymlinks: true });
    }
    const archive = spawn('tar', ['-c', '--owner=0', '--group=0', '.'], {
      cwd: context,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const archived = childExit(archive);
    const report = await docker.buildImage(archive.stdout, {
      ...{ t: tag, rm: true, forcerm: true, abortSignal: signal },
    });
    await followProgress(report);
    const { code } = await archived;
    if (code !== 0) throw new Error(`tar ended with code ${String(code)}`);
  } finally {
    await rm(context, { recursive: true, force: true });
  }
  return tag;
}
