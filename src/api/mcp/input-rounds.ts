import { EmergentError } from '../../domain/errors.ts';
import type { JsonObject, JsonRpcOutcome, JsonRpcRequest } from '../../domain/json-rpc.ts';

/** A program may ask again after every answer; one that never stops is broken. */
const maxRounds = 16;

/** Asks the client; its refusal is an outcome too. */
export type Ask = (question: JsonRpcRequest) => Promise<JsonRpcOutcome>;

/** A program of 2026-07-28 that needs something from the client answers with what it needs. */
export function isInputRequired(outcome: JsonRpcOutcome): boolean {
  return 'result' in outcome && outcome.result['resultType'] === 'input_required';
}

/**
 * For clients of 2025, who are asked and do not retry: what the program needs is asked of them, and the call made
 * again with their answers, until it is complete. A client that refuses to answer gets its own refusal back.
 */
export async function callInRounds(
  call: (request: JsonRpcRequest) => Promise<JsonRpcOutcome>,
  request: JsonRpcRequest,
  ask: Ask,
): Promise<JsonRpcOutcome> {
  let next = request;
  for (let round = 0; round < maxRounds; round++) {
    const outcome = await call(next);
    if (!isInputRequired(outcome) || !('result' in outcome)) return outcome;
    const answers = await askAll(outcome.result['inputRequests'], ask);
    if ('error' in answers) return answers;
    next = {
      ...request,
      params: { ...request.params, ...answers.result, ...stateIn(outcome.result) },
    };
  }
  throw new EmergentError(
    'mcp_failed',
    `the server asked for more input ${String(maxRounds)} times in one call`,
  );
}

async function askAll(questions: unknown, ask: Ask): Promise<JsonRpcOutcome> {
  const answered = await Promise.all(
    Object.entries(asObject(questions)).map(async ([key, question]) => {
      return [key, await ask(asQuestion(question))] as const;
    }),
  );
  const results: Record<string, unknown> = {};
  for (const [key, outcome] of answered) {
    if ('error' in outcome) return outcome;
    results[key] = outcome.result;
  }
  return { result: { inputResponses: results } };
}

function stateIn({ requestState }: JsonObject): JsonObject {
  return requestState === undefined ? {} : { requestState };
}

function asQuestion(value: unknown): JsonRpcRequest {
  const { method, params } = asObject(value);
  if (typeof method !== 'string') {
    throw new EmergentError('mcp_failed', 'the server asked for input without saying which');
  }
  return { method, ...(params !== undefined && { params: asObject(params) }) };
}

function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null ? (value as JsonObject) : {};
}
