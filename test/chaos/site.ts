import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from './api-client.ts';
import { prepareDataDir } from '../support/prepared-data-dir.ts';
import type { Complaints } from './findings.ts';
import type { Grounds } from './grounds.ts';
import { releaseDisks } from './host-disks.ts';
import type { Premises } from './inventory.ts';
import { processesWith } from './processes.ts';
import { ServerKeeper } from './server-keeper.ts';
import { until } from './until.ts';
import { openWayIn } from './way-in.ts';

export interface SiteOptions {
  readonly grounds: Grounds;
  readonly findings: Complaints<'crash'>;
  /** What the server is told besides where everything is. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The checkout whose server is tested; this one unless told. */
  readonly root?: string | undefined;
  readonly progress?: ((line: string) => void) | undefined;
}

/** What a server has started may end after it. */
const endMs = 30_000;
/** In a namespace where nobody else has one. */
const serverPort = 7_700;

/**
 * One server on its grounds: where its data lie, how it is reached, where to look for what it leaves. Its log and
 * data are kept when it is disposed of, unless `forget` was called.
 */
export class Site implements AsyncDisposable {
  readonly directory: string;
  readonly api: ApiClient;
  readonly server: ServerKeeper;
  readonly premises: Premises;
  readonly #dataDir: string;
  readonly #resources: AsyncDisposableStack;
  #kept = true;

  private constructor(
    { grounds, findings, settings, root }: SiteOptions,
    directory: string,
    port: number,
    resources: AsyncDisposableStack,
  ) {
    const { engine, database } = grounds;
    const diskDir = join(directory, 'disks');
    const token = randomBytes(24).toString('hex');
    this.directory = directory;
    this.#dataDir = dataIn(directory);
    this.#resources = resources;
    this.api = new ApiClient(`http://127.0.0.1:${String(port)}`, token);
    this.premises = {
      ...{ docker: engine.docker, diskDir, rules: () => engine.rules() },
      async restartEngine() {
        await engine.stop();
        await engine.start();
      },
    };
    const env = {
      EMERGENT_DATA_DIR: this.#dataDir,
      WORKSPACE_DISK_DIR: diskDir,
      EMERGENT_PORT: String(serverPort),
      EMERGENT_ADMIN_TOKEN: token,
      EMERGENT_LOG_LEVEL: 'info',
      WORKSPACE_MAX_CONCURRENT: '200',
      DOCKER_HOST: `unix://${engine.socket}`,
      ...(database && { DATABASE_URL: database.url }),
      ...settings,
    };
    const log = join(directory, 'server.log');
    const place = { log, namespace: engine.namespace, ...(root !== undefined && { root }) };
    this.server = new ServerKeeper({ env, ...place }, findings);
    resources.defer(() => releaseDisks(diskDir));
    resources.use(this.server);
  }

  static async open(options: SiteOptions): Promise<Site> {
    await using opening = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), 'emergent-chaos-'));
    let kept = (): boolean => false;
    opening.defer(async () => {
      if (kept()) options.progress?.(`The server's log and data are kept in ${directory}.`);
      else await rm(directory, { recursive: true, force: true });
    });
    const { engine, database } = options.grounds;
    const { namespace } = engine;
    if (!database) await prepareDataDir(dataIn(directory));
    const way = opening.use(await openWayIn(namespace, serverPort, join(directory, 'way-in.sock')));
    const site = new Site(options, directory, way.port, opening.move());
    kept = () => site.#kept;
    return site;
  }

  forget(): void {
    this.#kept = false;
  }

  /** Pids of servers that should have ended, and of what they have started. */
  async serversLeft(): Promise<readonly string[]> {
    const left = (): Promise<readonly string[]> =>
      processesWith(`EMERGENT_DATA_DIR=${this.#dataDir}`);
    await until(async () => (await left()).length === 0, endMs);
    return left();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

function dataIn(directory: string): string {
  return join(directory, 'data');
}
