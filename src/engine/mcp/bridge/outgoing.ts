import type {
  JsonObject,
  JsonRpcError,
  JsonRpcId,
  JsonRpcNotification,
  JsonRpcOutcome,
  JsonRpcRequest,
} from '../../../domain/json-rpc.ts';
import { bridgeBounds } from './bounds.ts';
import { failures } from './failures.ts';

/** Messages as the lines that a program reads. Throws `invalid_value` for what is too large, or no JSON. */
export const encode = {
  request: (id: number, request: JsonRpcRequest): Buffer => line({ id, ...request }),
  notification: (notification: JsonRpcNotification): Buffer => line(notification),
  answer: (id: JsonRpcId, outcome: JsonRpcOutcome): Buffer => line({ id, ...outcome }),
};

interface Message {
  readonly id?: JsonRpcId;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: JsonRpcError;
}

/** Only what belongs there: whoever made the object may have left more in it. */
function line({ id, method, params, result, error }: Message): Buffer {
  const message = { jsonrpc: '2.0', id, method, params, result, error };
  const bytes = Buffer.from(`${textOf(message)}\n`, 'utf8');
  if (bytes.length > bridgeBounds.outgoingBytes) throw failures.requestTooLarge();
  return bytes;
}

/** What is nested without end cannot be written. */
function textOf(message: object): string {
  try {
    return JSON.stringify(message);
  } catch (error) {
    throw failures.requestNotJson(error);
  }
}
