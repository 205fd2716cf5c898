import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { freePort } from './free-port.ts';
import { testHost } from './host.ts';
import { McpHosting } from './mcp-hosting.ts';
import { mcpImages } from './mcp-image.ts';
import type { McpImages } from './mcp-image.ts';
import { McpTraces } from './mcp-traces.ts';
import { prepareDataDir } from './prepared-data-dir.ts';
import { ServerProcess } from './server-process.ts';

/** `emergent serve` as a process of its own that can be killed and started again at the same address. */
export class McpProcess implements AsyncDisposable {
  readonly url: string;
  readonly token = randomBytes(24).toString('hex');
  readonly images: McpImages;
  readonly hosting: McpHosting;
  readonly traces: McpTraces;
  readonly #directory: string;
  readonly #env: Readonly<Record<string, string>>;
  #server: ServerProcess | undefined;

  private constructor(
    images: McpImages,
    directory: string,
    port: number,
    settings: Readonly<Record<string, string>>,
    docker: Docker,
  ) {
    this.images = images;
    this.url = `http://127.0.0.1:${String(port)}`;
    this.#directory = directory;
    const diskDir = join(directory, 'disks');
    this.#env = {
      EMERGENT_ADMIN_TOKEN: this.token,
      EMERGENT_DATA_DIR: join(directory, 'data'),
      EMERGENT_LOG_LEVEL: 'warn',
      EMERGENT_PORT: String(port),
      WORKSPACE_DISK_DIR: diskDir,
      ...settings,
    };
    this.hosting = new McpHosting(this);
    this.traces = new McpTraces(docker, diskDir);
  }

  static async start(
    settings: Readonly<Record<string, string>> = {},
    docker = new Docker(),
  ): Promise<McpProcess> {
    // What the server finds prepared.
    await testHost();
    const images = await mcpImages();
    const directory = await mkdtemp(join(tmpdir(), 'emergent-mcp-'));
    if (settings['DATABASE_URL'] === undefined) await prepareDataDir(join(directory, 'data'));
    const process = new McpProcess(images, directory, await freePort(), settings, docker);
    await process.start();
    return process;
  }

  get pid(): number {
    if (!this.#server) throw new Error('the server does not run');
    return this.#server.pid;
  }

  /** What it has logged so far. */
  log(): Promise<string> {
    return readFile(join(this.#directory, 'log'), 'utf8');
  }

  async start(): Promise<void> {
    this.#server = await ServerProcess.spawn({
      log: join(this.#directory, 'log'),
      env: this.#env,
    });
    await this.#server.ready;
  }

  /** As a crash ends it. */
  async kill(): Promise<void> {
    await this.#server?.kill();
    this.#server = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server) {
      await this.hosting.deleteAll();
      await this.#server.stop();
    }
    await rm(this.#directory, { recursive: true, force: true });
  }
}
