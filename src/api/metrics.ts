import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { withDeadline } from '../base/deadline.ts';
import type { Caller } from '../domain/caller.ts';
import type { ProviderStatus } from '../domain/provider-status.ts';
import type { ApiContext } from './context.ts';
import { mcpMetrics } from './mcp-metrics.ts';
import type { McpFigures } from './mcp-metrics.ts';
import { attemptMetrics, poolMetrics } from './pool-metrics.ts';
import { workspaceMetrics } from './workspace-metrics.ts';

/** From a cached look-up to a command that runs for minutes, in seconds. */
const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export interface RequestFacts {
  readonly method: string;
  /** The template, such as /api/v1/tokens/:id: the number of series stays bounded. */
  readonly route: string;
  readonly status: number;
  readonly ms: number;
}

/** What this server knows of the use of hosted MCP servers. */
export type McpUse = () => Omit<McpFigures, 'servers'>;

/** What /metrics shows. Every server has its own registry; gauges are read when they are asked for. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #context: ApiContext;
  readonly #mcpUse: McpUse;
  readonly #requests: Counter<'method' | 'route' | 'status'>;
  readonly #durations: Histogram<'method' | 'route' | 'status'>;
  readonly #workspaces: Gauge<'provider'>;
  readonly #providersUp: Gauge<'provider'>;
  readonly #storeUp: Gauge;

  constructor(context: ApiContext, mcpUse: McpUse, runningProcesses?: () => number) {
    this.#context = context;
    this.#mcpUse = mcpUse;
    const registers = [this.#registry];
    const requestLabels = ['method', 'route', 'status'] as const;
    collectDefaultMetrics({ register: this.#registry });
    this.#requests = new Counter({
      name: 'emergent_http_requests_total',
      help: 'Requests answered; status 499 is a client that went away.',
      labelNames: requestLabels,
      registers,
    });
    this.#durations = new Histogram({
      name: 'emergent_http_request_duration_seconds',
      help: 'From the request line to the last byte of the answer.',
      labelNames: requestLabels,
      buckets: durationBuckets,
      registers,
    });
    this.#workspaces = new Gauge({
      name: 'emergent_workspaces',
      help: 'Workspaces by the provider that runs them.',
      labelNames: ['provider'],
      registers,
    });
    this.#providersUp = new Gauge({
      name: 'emergent_provider_up',
      help: '1: healthy. 0: unhealthy, or absent on this host.',
      labelNames: ['provider'],
      registers,
    });
    this.#storeUp = new Gauge({
      name: 'emergent_store_up',
      help: '1: the database answered this scrape.',
      registers,
    });
    if (runningProcesses) {
      new Gauge({
        name: 'emergent_running_processes',
        help: 'Commands that this server is running now.',
        registers,
        collect() {
          this.set(runningProcesses());
        },
      });
    }
  }

  observe({ method, route, status, ms }: RequestFacts): void {
    const labels = { method, route, status: String(status) };
    this.#requests.inc(labels);
    this.#durations.observe(labels, ms / 1000);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Of workspaces only what the caller may see. */
  async text(caller: Caller): Promise<string> {
    const { stats, pool, workspaces, mcp } = this.#context.engine;
    const [, ...parts] = await Promise.all([
      this.#readEngine(),
      this.#part('what the workspaces use', async (signal) =>
        workspaceMetrics(await stats.list(caller, signal)),
      ),
      this.#part('the warm pools', async () => poolMetrics(await pool.report())),
      this.#part('the creates', () => attemptMetrics(workspaces.createAttempts())),
      this.#part('the MCP servers', async () =>
        mcpMetrics({ servers: await mcp.list(caller), ...this.#mcpUse() }),
      ),
    ]);
    return [await this.#registry.metrics(), ...parts].join('\n');
  }

  /** A store or a provider that hangs costs the scrape these figures, not the others. */
  async #part(what: string, read: (signal: AbortSignal) => Promise<string>): Promise<string> {
    const { log, limits } = this.#context;
    try {
      return await withDeadline(what, limits.scrapeMs, read);
    } catch (error) {
      log.warn(`the scrape could not read ${what}`, { err: error });
      return '';
    }
  }

  /** A database that does not answer is itself a measurement: the scrape goes on without what it holds. */
  async #readEngine(): Promise<void> {
    const { engine, log } = this.#context;
    let statuses: readonly ProviderStatus[] = [];
    try {
      statuses = await engine.workspaces.providerStatuses();
      this.#storeUp.set(1);
    } catch (error) {
      log.warn('the scrape could not read the store', { err: error });
      this.#storeUp.set(0);
    }
    this.#workspaces.reset();
    this.#providersUp.reset();
    for (const { name, activeWorkspaces, health, capabilities } of statuses) {
      // One that is not configured is not down.
      if (capabilities === null && activeWorkspaces === 0) continue;
      this.#workspaces.set({ provider: name }, activeWorkspaces);
      this.#providersUp.set({ provider: name }, health.state === 'healthy' ? 1 : 0);
    }
  }
}
