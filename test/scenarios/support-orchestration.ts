import { join } from 'node:path';
import type { DeploymentMode } from '../../src/domain/workspace.ts';
import { settled, startServer } from '../api/support/server.ts';
import type { TestServer, TestServerOptions, TestStore } from '../api/support/server.ts';
import { FakeClock } from '../support/clock.ts';
import { DeclaredProvider } from '../support/declared-provider.ts';

export interface Created {
  readonly id: string;
  readonly provider: string;
  readonly status: string;
  readonly metadata: Readonly<Record<string, unknown>> & {
    readonly attempts: readonly Readonly<Record<string, unknown>>[];
  };
}

const path = '/api/v1/agent/workspaces';
const names = ['firecracker', 'gvisor', 'e2b'] as const;
type Name = (typeof names)[number];

/** A whole server whose providers are those of the specs, as far as the orchestrator can see them. */
export interface Orchestra extends AsyncDisposable, Readonly<Record<Name, DeclaredProvider>> {
  readonly server: TestServer;
  readonly clock: FakeClock;
  create(body?: Readonly<Record<string, unknown>>): Promise<Created>;
  /** How many sandboxes there are on each. */
  sandboxes(): Promise<Readonly<Record<Name, number>>>;
}

export async function startOrchestra(
  on: TestStore,
  mode: DeploymentMode = 'self-hosted',
  options: TestServerOptions['engine'] & { readonly without?: readonly Name[] } = {},
): Promise<Orchestra> {
  const { without = [], ...engine } = options;
  const clock = new FakeClock();
  const root = (name: Name): string => join(on.root, `${name}-${crypto.randomUUID()}`);
  const made = Object.fromEntries(
    names.map((name) => [name, new DeclaredProvider(name, { root: root(name) })]),
  ) as Record<Name, DeclaredProvider>;
  const server = await startServer(on, {
    providers: names.filter((name) => !without.includes(name)).map((name) => made[name]),
    engine: {
      clock,
      allowUnsandboxed: false,
      defaults: { ...settled.defaults, deploymentMode: mode },
      ...engine,
    },
  });
  return {
    ...made,
    server,
    clock,
    create: (body = {}) => server.admin.json<Created>(201, 'POST', path, { json: body }),
    async sandboxes() {
      const { signal } = new AbortController();
      const counts = await Promise.all(
        names.map(async (name) => [name, (await made[name].list(signal)).length]),
      );
      return Object.fromEntries(counts) as Record<Name, number>;
    },
    async [Symbol.asyncDispose]() {
      const { items } = await server.admin.json<{ items: { id: string }[] }>(200, 'GET', path);
      for (const { id } of items) await server.admin.json(200, 'DELETE', `${path}/${id}`);
      await server[Symbol.asyncDispose]();
      await Promise.all(names.map((name) => made[name][Symbol.asyncDispose]()));
    },
  };
}
