import type { Clock } from '../../../base/clock.ts';
import { EmergentError } from '../../../domain/errors.ts';
import type { JsonRpcOutcome, JsonRpcRequest } from '../../../domain/json-rpc.ts';
import type { McpIntroduction } from '../../../domain/mcp.ts';
import { bridgeBounds } from './bounds.ts';
import {
  legacyRevisions,
  modernMessage,
  ourCapabilities,
  ourClientInfo,
  ourselves,
} from './envelope.ts';
import { discoverAnswer, initializeAnswer, refused } from './introduction.ts';

export interface Introducing {
  readonly clock: Clock;
  /** Sends it as it is. */
  readonly ask: (request: JsonRpcRequest, timeoutMs: number) => Promise<JsonRpcOutcome>;
  readonly tell: (notification: JsonRpcRequest) => void;
}

/**
 * Programs of the older revisions answer `initialize`, and most programs are of those. One that refuses it is asked in the
 * newer way.
 */
export async function introduce(with_: Introducing, timeoutMs: number): Promise<McpIntroduction> {
  const began = with_.clock.monotonic();
  const initialized = await with_.ask(initialize, timeoutMs);
  if ('result' in initialized) {
    const introduction = initializeAnswer(initialized.result);
    with_.tell({ method: 'notifications/initialized' });
    return introduction;
  }
  const leftMs = Math.max(0, timeoutMs - (with_.clock.monotonic() - began));
  const discoverMs = Math.min(leftMs, bridgeBounds.ownCallTimeoutMs);
  const discovered = await discover(with_, discoverMs, initialized.error.message);
  if ('result' in discovered) return discoverAnswer(discovered.result);
  throw refused('initialize', initialized.error.message);
}

export const discoverRequest: JsonRpcRequest = modernMessage(
  { method: 'server/discover' },
  ourselves,
);

const initialize: JsonRpcRequest = {
  method: 'initialize',
  params: {
    protocolVersion: legacyRevisions[0],
    capabilities: ourCapabilities,
    clientInfo: ourClientInfo,
  },
};

/** One that knows neither may well be silent on what it does not know: then its refusal is what there is to say. */
async function discover(
  { ask }: Introducing,
  timeoutMs: number,
  refusal: string,
): Promise<JsonRpcOutcome> {
  try {
    return await ask(discoverRequest, timeoutMs);
  } catch (error) {
    const late = error instanceof EmergentError && error.code === 'deadline_exceeded';
    throw late ? refused('initialize', refusal) : error;
  }
}
