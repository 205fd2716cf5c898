import { jsonRpcErrors } from '../../../domain/json-rpc.ts';
import type { JsonObject, JsonRpcError, JsonRpcRequest } from '../../../domain/json-rpc.ts';
import type { McpClient } from '../connection.ts';
import type { Call } from './calls.ts';
import { isObject } from './messages.ts';

export type Asked =
  | { readonly client: AskableClient; readonly calls: readonly Call[] }
  | { readonly error: JsonRpcError };

export type AskableClient = McpClient & Required<Pick<McpClient, 'request'>>;

/** While only these are in flight beside a call, a question is about that call. */
const asksNothing: ReadonlySet<string> = new Set([
  'ping',
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
]);

/**
 * Whom a question of the program is put to. It does not say which call it is about, so it is put to a client only where
 * it can be about no other's call: what one client's call is about is no other client's business.
 */
export function whoIsAsked(question: JsonRpcRequest, inFlight: Iterable<Call>): Asked {
  const ofClients = [...inFlight].filter(({ client }) => client !== null);
  const asking = ofClients.filter(({ method }) => !asksNothing.has(method));
  const calls = asking.length > 0 ? asking : ofClients;
  const clients = new Map(calls.map(({ client }) => [client?.id, client]));
  const [client] = clients.values();
  if (!client) return refuse(question, 'no call of a client is in flight that could be asked');
  if (clients.size > 1) return { error: several(question, clients.size) };
  const missing = missingCapability(question, client.capabilities);
  if (missing) return refuse(question, `the client has not declared ${missing}`);
  if (!isAskable(client)) return refuse(question, 'the client cannot be asked anything');
  return { client, calls };
}

function isAskable(client: McpClient): client is AskableClient {
  return client.request !== undefined;
}

function refuse({ method }: JsonRpcRequest, why: string): Asked {
  return { error: { code: jsonRpcErrors.methodNotFound, message: `${method}: ${why}` } };
}

function several({ method }: JsonRpcRequest, clients: number): JsonRpcError {
  return {
    code: jsonRpcErrors.internal,
    message:
      `${method}: calls of ${String(clients)} clients are in flight, and nothing says whose this is about; ` +
      'a server that asks its clients is to be registered with max_in_flight 1',
  };
}

/** Null: nothing is missing. */
function missingCapability(
  { method, params }: JsonRpcRequest,
  capabilities: JsonObject,
): string | null {
  const name = neededCapability[method];
  if (name === undefined) return 'any such request';
  const declared = capabilities[name];
  if (!isObject(declared)) return name;
  if (name === 'elicitation') return missingElicitation(params?.['mode'], declared);
  const withTools = name === 'sampling' && params?.['tools'] !== undefined;
  return withTools && !isObject(declared['tools']) ? 'sampling.tools' : null;
}

/** A client that says nothing more means forms. */
function missingElicitation(mode: unknown, declared: JsonObject): string | null {
  if (mode === 'url') return isObject(declared['url']) ? null : 'elicitation.url';
  const forms = isObject(declared['form']) || !('url' in declared);
  return forms ? null : 'elicitation.form';
}

const neededCapability: Readonly<Record<string, string | undefined>> = Object.assign(
  Object.create(null) as Record<string, string>,
  {
    'sampling/createMessage': 'sampling',
    'elicitation/create': 'elicitation',
    'roots/list': 'roots',
  },
);
