import { randomBytes } from 'node:crypto';
import fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { EmergentError } from '../domain/errors.ts';
import type { Engine } from '../engine/engine.ts';
import type { McpPeers } from '../engine/mcp/peers.ts';
import { authenticate } from './auth.ts';
import { defaultLimits } from './context.ts';
import type { Api, ApiContext, ApiLimits } from './context.ts';
import { replyError } from './errors/error-reply.ts';
import { validatorCompiler } from './errors/invalid-request.ts';
import { RouteTable } from './errors/unknown-route.ts';
import { holdContinue } from './http/expect-continue.ts';
import { takeJsonBodies } from './http/json-body.ts';
import { MalformedHttp } from './http/malformed.ts';
import { serverOptions } from './http/server-options.ts';
import { closeIfBodyUnread } from './http/unread-body.ts';
import { refuseMalformed } from './http/well-formed.ts';
import { McpCallCounts } from './mcp/call-counts.ts';
import { McpGateway } from './mcp/gateway.ts';
import { PassOn } from './mcp/pass-on.ts';
import { Metrics } from './metrics.ts';
import { observe } from './observe.ts';
import { documentRoutes } from './openapi.ts';
import { bashRoutes } from './routes/bash.ts';
import { eventRoutes } from './routes/events.ts';
import { fileRoutes } from './routes/files.ts';
import { lifecycleRoutes } from './routes/lifecycle.ts';
import { mcpRoutes } from './routes/mcp-all.ts';
import { poolRoutes } from './routes/pool.ts';
import { processOutputRoute } from './routes/process-output.ts';
import { processRoutes } from './routes/processes.ts';
import { providerRoutes } from './routes/providers.ts';
import { serverRoutes } from './routes/server.ts';
import { statsRoutes } from './routes/stats.ts';
import { terminalRoute } from './routes/terminal.ts';
import { tokenRoutes } from './routes/tokens.ts';
import { fileToolRoutes } from './routes/tools-files.ts';
import { gitRoutes } from './routes/tools-git.ts';
import { searchRoutes } from './routes/tools-search.ts';
import { upkeepRoutes } from './routes/upkeep.ts';
import { workspaceMcpRoutes } from './routes/workspace-mcp.ts';
import { workspaceRoutes } from './routes/workspaces.ts';
import { watchClosing } from './shutdown.ts';
import { StoreProbe } from './store-probe.ts';
import { routeUpgrades } from './terminal/upgrade.ts';
import { endStalled } from './stream/stalled.ts';

export interface ApiOptions {
  readonly engine: Engine;
  readonly log: Log;
  readonly clock: Clock;
  readonly version: string;
  /** Asks the store something small, for /healthz; rejects when it does not answer. */
  readonly ready?: () => Promise<unknown>;
  /** How many commands run now, for /metrics. */
  readonly runningProcesses?: () => number;
  readonly limits?: Partial<ApiLimits>;
  /** Seals what MCP clients hold of their sessions; the same one lets them go on after a restart. */
  readonly sessionKey?: Uint8Array;
  /** Who else hosts MCP servers; without it nothing is passed on. */
  readonly peers?: McpPeers;
}

/** The HTTP API, ready for `listen`. */
export async function buildApi(options: ApiOptions): Promise<FastifyInstance> {
  const { engine, log, clock, version } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const closing = new AbortController();
  const context: ApiContext = {
    ...{ engine, log, clock, limits, version, closing: closing.signal },
    sessionKey: options.sessionKey ?? randomBytes(32),
  };
  const calls = new McpCallCounts();
  const gateway = new McpGateway(context, calls);
  const passOn = new PassOn(options.peers, context);
  const mcpUse = () => ({
    calls: calls.all,
    sessions: gateway.sessionCount,
    passedOn: passOn.count,
  });
  const metrics = new Metrics(context, mcpUse, options.runningProcesses);
  const malformed = new MalformedHttp(log, clock);
  const app = fastify({
    ...serverOptions(limits),
    clientErrorHandler: malformed.onClientError,
    // Before routing, and so before every hook: a path that cannot be decoded.
    frameworkErrors: (error, request, reply) => {
      observe(request, reply, metrics, context);
      reply.header('x-request-id', request.id);
      closeIfBodyUnread(request, reply, clock);
      void replyError(error, request, reply, log);
    },
  });
  app.setErrorHandler((error, request, reply) => replyError(error, request, reply, log));
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  holdContinue(app);
  takeJsonBodies(app, context);
  watchClosing(app, closing);
  routeUpgrades(app);
  addHooks(app, context, metrics, malformed);
  await documentRoutes(app, version);
  const probe = new StoreProbe(options.ready ?? (() => Promise.resolve()), clock);
  serverRoutes(app, probe, metrics);
  const prefix = '/api/v1';
  await app.register(async (api) => addRoutes(api, context), { prefix });
  const mcpParts = { gateway, calls, passOn };
  await app.register(async (api) => mcpRoutes(api, context, mcpParts), { prefix });
  app.addHook('onClose', async () => {
    gateway[Symbol.dispose]();
    passOn[Symbol.dispose]();
  });
  await app.ready();
  return app;
}

/** What every request goes through. The order matters: nothing of a body is read before the token is known. */
function addHooks(
  app: FastifyInstance,
  context: ApiContext,
  metrics: Metrics,
  malformed: MalformedHttp,
): void {
  const routes = new RouteTable(app);
  app.decorateRequest('caller', undefined);
  app.decorateRequest('failure', undefined);
  app.decorateRequest('passedTo', undefined);
  app.addHook('onRequest', async (request, reply) => {
    malformed.began(request.raw, reply.raw);
    observe(request, reply, metrics, context);
    reply.header('x-request-id', request.id);
    reply.header('cache-control', 'no-store');
    reply.header('x-content-type-options', 'nosniff');
    if (context.closing.aborted) throw new EmergentError('shutting_down', 'the server is stopping');
    refuseMalformed(request);
    await authenticate(request, context.engine);
    if (request.is404) throw routes.refuse(request, reply);
  });
  app.addHook('onSend', async (request, reply) => {
    endStalled(reply, context.limits);
    closeIfBodyUnread(request, reply, context.clock);
  });
}

async function addRoutes(api: Api, context: ApiContext): Promise<void> {
  workspaceRoutes(api, context);
  providerRoutes(api, context);
  poolRoutes(api, context);
  statsRoutes(api, context);
  lifecycleRoutes(api, context);
  bashRoutes(api, context);
  fileToolRoutes(api, context);
  searchRoutes(api, context);
  gitRoutes(api, context);
  processRoutes(api, context);
  processOutputRoute(api, context);
  terminalRoute(api, context);
  workspaceMcpRoutes(api, context);
  eventRoutes(api, context);
  upkeepRoutes(api, context);
  tokenRoutes(api, context);
  await api.register(async (scope) => {
    fileRoutes(scope, context);
  });
}
