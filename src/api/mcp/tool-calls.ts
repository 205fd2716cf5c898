import type { Clock } from '../../base/clock.ts';
import type { Caller } from '../../domain/caller.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { JsonRpcOutcome, JsonRpcRequest } from '../../domain/json-rpc.ts';
import type { McpOperations } from '../../engine/mcp/operations.ts';
import { toEmergentError } from '../errors/to-emergent-error.ts';
import { isInputRequired } from './input-rounds.ts';
import type { McpCallCounts } from './call-counts.ts';

/** A call that is passed on to a hosted server. */
export interface PassedCall {
  readonly caller: Caller;
  readonly serverId: string;
  readonly request: JsonRpcRequest;
  /** Aborts when its client does not want it any more. */
  readonly signal: AbortSignal;
}

/** Notes each call of a tool when it has ended, however it did. */
export class ToolCalls {
  readonly #mcp: McpOperations;
  readonly #counts: McpCallCounts;
  readonly #clock: Clock;

  constructor(mcp: McpOperations, counts: McpCallCounts, clock: Clock) {
    this.#mcp = mcp;
    this.#counts = counts;
    this.#clock = clock;
  }

  async noted(call: PassedCall, work: () => Promise<JsonRpcOutcome>): Promise<JsonRpcOutcome> {
    const { method, params } = call.request;
    if (method !== 'tools/call') return work();
    const tool = typeof params?.['name'] === 'string' ? params['name'] : '';
    const startedAt = this.#clock.monotonic();
    const note = (result: string): void => {
      this.#counts.count(result);
      const durationMs = Math.round(this.#clock.monotonic() - startedAt);
      this.#mcp.noteCall(call.caller, call.serverId, { tool, durationMs, result });
    };
    try {
      const outcome = await work();
      // One that needs input has not ended.
      if (!isInputRequired(outcome)) note(resultOf(outcome));
      return outcome;
    } catch (error) {
      note(codeOf(error, call.signal));
      throw error;
    }
  }
}

/** Whoever gave the call up has said why, or has just gone. */
function codeOf(failure: unknown, signal: AbortSignal): string {
  if (!signal.aborted) return toEmergentError(failure).code;
  return signal.reason instanceof EmergentError ? signal.reason.code : 'client_closed';
}

/** A tool says in its result that it has failed; a program refuses with an error. */
export function resultOf(outcome: JsonRpcOutcome): string {
  return 'error' in outcome || outcome.result['isError'] === true ? 'error' : 'ok';
}

export function cancelled(): EmergentError {
  return new EmergentError('client_closed', 'the client cancelled the call');
}
