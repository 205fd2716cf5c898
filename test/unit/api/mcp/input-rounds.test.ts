import { expect, test } from 'vitest';
import { callInRounds } from '../../../../src/api/mcp/input-rounds.ts';
import type { JsonRpcOutcome, JsonRpcRequest } from '../../../../src/domain/json-rpc.ts';

const request = { method: 'tools/call', params: { name: 'x' } };
const question = (message: string): JsonRpcRequest => ({
  method: 'elicitation/create',
  params: { message },
});

test('what a program needs is asked of the client and brought with the next call', async () => {
  const calls: JsonRpcRequest[] = [];
  const asked: JsonRpcRequest[] = [];
  const outcomes: JsonRpcOutcome[] = [
    {
      result: {
        resultType: 'input_required',
        inputRequests: { a: question('a?'), b: question('b?') },
        requestState: 's1',
      },
    },
    { result: { resultType: 'input_required', requestState: 's2' } },
    { result: { resultType: 'complete', content: [] } },
  ];
  const outcome = await callInRounds(
    async (next) => {
      calls.push(next);
      return outcomes[calls.length - 1] ?? { result: {} };
    },
    request,
    async (one) => {
      asked.push(one);
      return { result: { said: String(one.params?.['message']) } };
    },
  );
  expect(outcome).toEqual(outcomes[2]);
  expect(asked).toEqual([question('a?'), question('b?')]);
  expect(calls.map(({ params }) => params)).toEqual([
    { name: 'x' },
    { name: 'x', inputResponses: { a: { said: 'a?' }, b: { said: 'b?' } }, requestState: 's1' },
    { name: 'x', inputResponses: {}, requestState: 's2' },
  ]);
});

test('a client that refuses to answer gets its refusal back', async () => {
  const refusal = { error: { code: -1, message: 'no' } };
  const needs = { result: { resultType: 'input_required', inputRequests: { a: question('?') } } };
  const outcome = await callInRounds(
    () => Promise.resolve(needs),
    request,
    () => Promise.resolve(refusal),
  );
  expect(outcome).toEqual(refusal);
});

test('a program that never has enough has failed', async () => {
  const needs = { result: { resultType: 'input_required', requestState: 'again' } };
  const work = callInRounds(
    () => Promise.resolve(needs),
    request,
    () => Promise.resolve({ result: {} }),
  );
  await expect(work).rejects.toMatchObject({ code: 'mcp_failed' });
});
