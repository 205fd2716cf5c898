import { z } from 'zod';
import type { JsonRpcOutcome, JsonRpcRequest } from '../../domain/json-rpc.ts';
import { text } from './text.ts';

export const mcpCallBody = z
  .strictObject({
    method: text(256).describe('Such as "tools/list" or "tools/call".'),
    params: z.record(z.string(), z.unknown()).optional(),
    timeout_ms: z.int().min(1).max(600_000).default(60_000),
  })
  .meta({ id: 'McpCall' });

export const mcpCallAnswer = z
  .union([
    z.object({ result: z.record(z.string(), z.unknown()) }),
    z.object({
      error: z.object({
        code: z.number(),
        message: z.string(),
        data: z.unknown().optional(),
      }),
    }),
  ])
  .meta({
    id: 'McpCallAnswer',
    description: 'What the server answered; its refusal is an answer.',
  });

export function toJsonRpc({ method, params }: z.output<typeof mcpCallBody>): JsonRpcRequest {
  return { method, ...(params && { params }) };
}

export function presentOutcome(from: JsonRpcOutcome): z.output<typeof mcpCallAnswer> {
  return 'error' in from ? { error: { ...from.error } } : { result: { ...from.result } };
}
