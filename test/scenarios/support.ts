import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Docker from 'dockerode';
import { systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { Log } from '../../src/base/log.ts';
import { loadConfig } from '../../src/config.ts';
import { serve } from '../../src/main.ts';
import type { HostFacts, RunningServer } from '../../src/main.ts';
import { eventsOf } from '../api/support/sse.ts';
import type { FakeClock } from '../support/clock.ts';
import { testHost } from '../support/host.ts';
import { prepareDataDir } from '../support/prepared-data-dir.ts';

/** What scenarios look at in answers of any kind; the API tests check the shapes of each. */
export interface AnswerBody {
  readonly id: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly last_used_at: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly resource_limits: Readonly<Record<string, unknown>>;
  readonly provider: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly items: readonly { readonly id: string; readonly status: string }[];
  readonly providers: readonly [ProviderBody, ...ProviderBody[]];
  readonly stdout: string;
  readonly exit_code: number;
  readonly signal: string | null;
  readonly interrupted: boolean;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly hint: string;
    readonly details: Readonly<Record<string, unknown>>;
  };
}

export interface ProviderBody {
  readonly name: string;
  readonly status: string;
  readonly reason: string;
  readonly remedy: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly last_check: string;
  readonly active_workspaces: number;
  readonly available_resources: unknown;
  readonly capabilities: { readonly startup_ms: number };
}

export interface ScenarioEvent {
  readonly id: number;
  readonly workspace_id: string;
  readonly actor: string;
  readonly type: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface Answer {
  readonly status: number;
  readonly body: AnswerBody;
}

/** What a server is told otherwise than usual. */
export interface ScenarioChanges {
  readonly host?: Partial<HostFacts>;
  readonly log?: Log;
}

/** Where scenarios run that need no isolation: on the real thing, and on the provider without any. */
export const everyProvider = [
  ['gvisor', {}],
  ['memory', { EMERGENT_DEMO: '1' }],
] as const;

/** The real server, started as `emergent serve` starts it, on a free port; on gVisor unless told otherwise. */
export class ScenarioServer implements AsyncDisposable {
  readonly docker: Docker;
  readonly #dataDir: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #clock: Clock;
  readonly #changes: ScenarioChanges;
  #running: RunningServer;

  private constructor(
    running: RunningServer,
    dataDir: string,
    env: Readonly<Record<string, string>>,
    docker: Docker,
    clock: Clock,
    changes: ScenarioChanges,
  ) {
    this.#running = running;
    this.#dataDir = dataDir;
    this.#env = env;
    this.docker = docker;
    this.#clock = clock;
    this.#changes = changes;
  }

  static async start(
    settings: Readonly<Record<string, string>> = {},
    docker = new Docker(),
    clock = systemClock,
    changes: ScenarioChanges = {},
  ): Promise<ScenarioServer> {
    const dataDir = await mkdtemp(join(tmpdir(), 'emergent-scenario-'));
    await prepareDataDir(dataDir);
    const env = {
      EMERGENT_DATA_DIR: dataDir,
      EMERGENT_PORT: '0',
      EMERGENT_LOG_LEVEL: 'silent',
      // What waits in a pool would be counted among what a test makes.
      WORKSPACE_WARM_POOL_SIZE: '0',
      ...settings,
    };
    const running = await start(env, clock, changes);
    return new ScenarioServer(running, dataDir, env, docker, clock, changes);
  }

  get url(): string {
    return this.#running.url;
  }

  get token(): string {
    return this.#running.adminToken.value;
  }

  /** Stops the server and starts another one on the same data, after what happens meanwhile. */
  async restart(
    settings: Readonly<Record<string, string>> = {},
    meanwhile: () => Promise<void> = async () => undefined,
  ): Promise<void> {
    await this.#running[Symbol.asyncDispose]();
    await meanwhile();
    this.#running = await start({ ...this.#env, ...settings }, this.#clock, this.#changes);
  }

  async call(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.callApi(method, `/agent/workspaces${path}`, body);
  }

  async callApi(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as AnswerBody };
  }

  async create(body: unknown = {}): Promise<string> {
    const created = await this.call('POST', '', body);
    if (created.status !== 201) throw new Error(JSON.stringify(created.body));
    return created.body.id;
  }

  /** The event stream's next events, from `after` on; whoever breaks off the loop ends it. */
  async *events(after: number): AsyncGenerator<ScenarioEvent> {
    const ended = new AbortController();
    const response = await fetch(`${this.url}/api/v1/events?after=${String(after)}`, {
      headers: { authorization: `Bearer ${this.token}`, accept: 'text/event-stream' },
      signal: ended.signal,
    });
    try {
      for await (const { event, data } of eventsOf(response)) {
        if (event !== 'comment') yield data as unknown as ScenarioEvent;
      }
    } finally {
      ended.abort();
    }
  }

  /** Waits until the workspace has had an event of this type. */
  async event(id: string, type: string): Promise<ScenarioEvent> {
    for await (const event of this.events(0)) {
      if (event.workspace_id === id && event.type === type) return event;
    }
    throw new Error(`the events ended before ${type}`);
  }

  async bash(id: string, command: string): Promise<Answer> {
    return this.call('POST', `/${id}/bash`, { command });
  }

  /** Destroys what the test left, and what waits for more, then stops the server. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.call('PATCH', '/pool', { size: 0 });
    for (const query of ['', '?status=warm']) {
      const { body } = await this.call('GET', query);
      await Promise.all(body.items.map(({ id }) => this.call('DELETE', `/${id}`)));
    }
    await this.#running[Symbol.asyncDispose]();
    await rm(this.#dataDir, { recursive: true, force: true });
  }
}

async function start(
  env: Readonly<Record<string, string>>,
  clock: Clock,
  { host, log }: ScenarioChanges,
): Promise<RunningServer> {
  return serve(loadConfig(env), { ...(await testHost()), ...host }, clock, log);
}

/** The pause between two looks of the reaper, which nobody else makes. */
const reaperPauseMs = 30_000;

/** Lets time pass on a server's clock, and its reaper look once when it has passed. */
export async function passTime(clock: FakeClock, ms: number): Promise<void> {
  await clock.advance(ms);
  await clock.whenSleepingFor(reaperPauseMs);
  await clock.advance(reaperPauseMs);
  await clock.whenSleepingFor(reaperPauseMs);
}

/** Every container and volume that carries the workspace's label. */
export async function resourcesOf(docker: Docker, id: string): Promise<string[]> {
  const filters = { label: [`dev.emergent.workspace=${id}`] };
  const containers = await docker.listContainers({ all: true, filters });
  const { Volumes: volumes } = await docker.listVolumes({ filters });
  return [
    ...containers.flatMap((container) => container.Names),
    ...volumes.map((volume) => volume.Name),
  ].toSorted();
}

export interface Disk {
  readonly image: string;
  readonly mount: string;
}

/** The disk below the volume of a workspace, in mode `loop`. */
export async function diskOf(docker: Docker, id: string): Promise<Disk> {
  const { Labels: labels } = await docker.getVolume(`agent-workspace-${id}`).inspect();
  const mount = dirname(labels['dev.emergent.disk-files'] ?? '');
  return { mount, image: join(dirname(dirname(mount)), `${id}.img`) };
}
