import type {
  JsonObject,
  JsonRpcError,
  JsonRpcId,
  JsonRpcNotification,
  JsonRpcOutcome,
  JsonRpcRequest,
} from '../../../domain/json-rpc.ts';

/** What a program wrote, as far as we look at it; params and results are only known to be objects. */
export type Incoming =
  | { readonly kind: 'request'; readonly id: JsonRpcId; readonly request: JsonRpcRequest }
  | { readonly kind: 'notification'; readonly notification: JsonRpcNotification }
  | {
      readonly kind: 'answer';
      /** Null: it does not say to what. */
      readonly id: JsonRpcId | null;
      /** Null: it is neither a result nor an error as MCP has them. */
      readonly outcome: JsonRpcOutcome | null;
    };

/** The messages of a line: one, several where it is a batch, or null where there is none in it. */
export function parseLine(line: string): readonly Incoming[] | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (!Array.isArray(value)) {
    const message = messageOf(value);
    return message && [message];
  }
  const messages = value.map(messageOf).filter((message) => message !== null);
  return messages.length > 0 ? messages : null;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isId(value: unknown): value is JsonRpcId {
  return typeof value === 'string' || typeof value === 'number';
}

/** The number of one of our calls, though a program has made a string of it. */
export function ownId(id: unknown): number {
  return typeof id === 'number' ? id : typeof id === 'string' ? Number(id) : Number.NaN;
}

function messageOf(value: unknown): Incoming | null {
  if (!isObject(value) || value['jsonrpc'] !== '2.0') return null;
  const { id, method, params } = value;
  if (method !== undefined) return calledBy(id, method, params);
  if (!('result' in value) && !('error' in value)) return null;
  if (id !== null && id !== undefined && !isId(id)) return null;
  return { kind: 'answer', id: id ?? null, outcome: outcomeOf(value) };
}

function calledBy(id: unknown, method: unknown, params: unknown): Incoming | null {
  if (typeof method !== 'string' || (params !== undefined && !isObject(params))) return null;
  const request = params === undefined ? { method } : { method, params };
  if (id === undefined) return { kind: 'notification', notification: request };
  return isId(id) ? { kind: 'request', id, request } : null;
}

/** An empty result is an object in MCP; programs that answer null mean the same. */
function outcomeOf({ result, error }: JsonObject): JsonRpcOutcome | null {
  if (error !== undefined && error !== null) return isError(error) ? { error } : null;
  if (result === null) return { result: {} };
  return isObject(result) ? { result } : null;
}

function isError(value: unknown): value is JsonObject & JsonRpcError {
  return (
    isObject(value) && Number.isSafeInteger(value['code']) && typeof value['message'] === 'string'
  );
}
