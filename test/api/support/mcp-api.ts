import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { buildApi } from '../../../src/api/app.ts';
import type { ApiOptions } from '../../../src/api/app.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { Caller } from '../../../src/domain/caller.ts';
import { EmergentError } from '../../../src/domain/errors.ts';
import type { McpServer, RegisterMcpServer } from '../../../src/domain/mcp.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { recordLog } from '../../support/log.ts';
import type { RecordedLog } from '../../support/log.ts';
import { Client } from './client.ts';
import { Contract } from './contract.ts';
import type { OpenApiDocument } from './contract.ts';
import { FakeMcp } from './fake-mcp.ts';

export const tokens: Readonly<Record<string, Caller>> = {
  'the-admin': { tokenId: '00000000-0000-4000-8000-000000000001', role: 'admin' },
  'an-agent': { tokenId: '00000000-0000-4000-8000-000000000002', role: 'agent' },
  'another-agent': { tokenId: '00000000-0000-4000-8000-000000000003', role: 'agent' },
};

export interface McpApi extends AsyncDisposable {
  readonly app: FastifyInstance;
  readonly url: string;
  readonly port: number;
  readonly mcp: FakeMcp;
  readonly admin: Client;
  readonly recorded: RecordedLog;
  gatewayOf(server: McpServer): URL;
}

export type McpApiOptions = Partial<Pick<ApiOptions, 'clock' | 'limits' | 'sessionKey'>> & {
  readonly mcp?: FakeMcp;
};

/** The HTTP API in front of hosted programs of this process, on a free port. */
export async function startMcpApi(options: McpApiOptions = {}): Promise<McpApi> {
  const { mcp = new FakeMcp(), ...others } = options;
  const recorded = recordLog();
  const app = await buildApi({
    engine: engineWith(mcp),
    log: recorded.log,
    clock: systemClock,
    version: '1.2.3',
    ...others,
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const bare = new Client(url, 'the-admin');
  const document = await bare.json<OpenApiDocument>(200, 'GET', '/openapi.json');
  return {
    ...{
      app,
      url,
      port,
      mcp,
      recorded,
      admin: new Client(url, 'the-admin', new Contract(document)),
    },
    gatewayOf: ({ workspace }) => new URL(`/api/v1/mcp/servers/${workspace.id}/mcp`, url),
    [Symbol.asyncDispose]: async () => {
      const closed = app.close();
      app.server.closeAllConnections();
      await closed;
    },
  };
}

/** What nothing here asks for is not there. */
function engineWith(mcp: FakeMcp): Engine {
  const engine = {
    mcp,
    tokens: {
      authenticate: async (token: string) => {
        const caller = tokens[token];
        if (caller) return caller;
        throw new EmergentError('unauthenticated', 'the token is unknown');
      },
    },
    stats: {
      get: async () => {
        throw mcp.unmeasured;
      },
      list: async () => ({ items: [], leftOut: 0 }),
    },
    workspaces: { providerStatuses: async () => [], createAttempts: () => [] },
    pool: { report: async () => ({ pools: [], counts: { hits: {}, misses: {} } }) },
  };
  return engine as unknown as Engine;
}

export function registration(
  name: string,
  config: Partial<RegisterMcpServer['config']> = {},
): RegisterMcpServer {
  return {
    config: {
      ...{ name, command: null, args: null, workdir: null, transport: { kind: 'stdio' } },
      ...{ restartPolicy: 'on-failure', volumes: [], maxInFlight: 16 },
      ...{ initializeTimeoutMs: 30_000, shared: false, ...config },
    },
    ...{ image: 'some/image', provider: 'auto', env: {}, limits: {} },
    ...{ network: 'isolated', metadata: {} },
  };
}
