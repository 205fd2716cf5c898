import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { loadConfig } from '../../../src/config.ts';
import { serve } from '../../../src/main.ts';
import type { HostFacts, RunningServer } from '../../../src/main.ts';
import { freePort } from '../../support/free-port.ts';
import { prepareDataDir } from '../../support/prepared-data-dir.ts';
import { Cli } from './cli.ts';
import type { CliOptions, CliResult } from './cli.ts';

const noHost: HostFacts = {
  image: 'demo',
  dockerSocket: null,
  agentPaths: null,
  runtime: { state: 'absent', reason: 'not needed', remedy: 'none' },
};

/** The real server, its workspaces without isolation, and the command pointed at it. */
export class TestServer implements AsyncDisposable {
  #server: RunningServer;
  readonly #dataDir: string;
  readonly #clock: Clock;
  /** An empty directory for the test's own files. */
  readonly files: string;
  readonly env: Readonly<Record<string, string>>;

  private constructor(server: RunningServer, dataDir: string, files: string, clock: Clock) {
    this.#server = server;
    this.#dataDir = dataDir;
    this.#clock = clock;
    this.files = files;
    this.env = { EMERGENT_URL: server.url, EMERGENT_TOKEN: server.adminToken.value };
  }

  static async start(clock: Clock = systemClock): Promise<TestServer> {
    const dataDir = await mkdtemp(join(tmpdir(), 'emergent-cli-'));
    const files = await mkdtemp(join(tmpdir(), 'emergent-cli-files-'));
    await prepareDataDir(dataDir);
    const port = String(await freePort());
    return new TestServer(await serveDemo(dataDir, port, clock), dataDir, files, clock);
  }

  /** Stops it and starts another one on the same data, at the same address, after what happens meanwhile. */
  async restart(meanwhile: () => Promise<void> = async () => undefined): Promise<void> {
    const { port } = new URL(this.#server.url);
    await this.#server[Symbol.asyncDispose]();
    await meanwhile();
    this.#server = await serveDemo(this.#dataDir, port, this.#clock);
  }

  get url(): string {
    return this.#server.url;
  }

  get dataDir(): string {
    return this.#dataDir;
  }

  start(args: readonly string[], options: CliOptions = {}): Cli {
    return new Cli(args, { ...options, env: { ...this.env, ...options.env } });
  }

  run(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    return this.start(args, options).ended;
  }

  /** The id of a new workspace. */
  async create(...options: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(['create', ...options]);
    if (code !== 0) throw new Error(`create failed: ${stderr}`);
    return stdout.trim();
  }

  async workspaceIds(): Promise<string[]> {
    const { stdout } = await this.run(['list', '--all', '--quiet']);
    return stdout.split('\n').filter((line) => line !== '');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    await rm(this.#dataDir, { recursive: true, force: true });
    await rm(this.files, { recursive: true, force: true });
  }
}

function serveDemo(dataDir: string, port: string, clock: Clock): Promise<RunningServer> {
  const config = loadConfig({
    EMERGENT_DATA_DIR: dataDir,
    EMERGENT_PORT: port,
    EMERGENT_DEMO: 'true',
    EMERGENT_LOG_LEVEL: 'error',
    WORKSPACE_WARM_POOL_SIZE: '0',
  });
  return serve(config, noHost, clock);
}
