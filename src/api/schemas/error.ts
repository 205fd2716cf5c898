import { z } from 'zod';
import { errorCodes } from '../../domain/errors.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { errorStatus } from '../error-status.ts';

/** The body of every answer that is not a success. */
export const errorBody = z
  .object({
    error: z.object({
      code: z.enum(errorCodes as readonly [ErrorCode, ...ErrorCode[]]),
      message: z.string().describe('What went wrong.'),
      hint: z.string().describe('What to do about it.'),
      details: z.record(z.string(), z.unknown()).optional(),
      request_id: z.string().describe('The same as the X-Request-Id header; find it in the log.'),
    }),
  })
  .meta({ id: 'Error' });
export type ErrorBody = z.output<typeof errorBody>;

interface ErrorResponse {
  description: string;
  content: { 'application/json': { schema: typeof errorBody } };
}

/** Codes that every authenticated route may answer. */
const everywhere: readonly ErrorCode[] = [
  'malformed_request',
  'unauthenticated',
  'unknown_field',
  'internal',
  'store_unavailable',
  'shutting_down',
];

/** Codes of routes that read a JSON body. */
export const jsonBodyErrors: readonly ErrorCode[] = [
  'malformed_json',
  'unsupported_media_type',
  'body_too_large',
  'invalid_value',
];

/** Codes of routes that work inside one workspace. */
export const workspaceErrors: readonly ErrorCode[] = [
  'bad_id',
  'workspace_not_found',
  'wrong_state',
  'interrupted',
  'sandbox_unreachable',
  'provider_failed',
  'deadline_exceeded',
];

/** Codes of routes about one hosted MCP server. */
export const mcpErrors: readonly ErrorCode[] = [
  'bad_id',
  'mcp_server_not_found',
  'hosted_elsewhere',
  'host_unreachable',
  'host_failed',
  'sandbox_unreachable',
  'deadline_exceeded',
];

/** Codes of routes that talk to its program. */
export const mcpUseErrors: readonly ErrorCode[] = [
  'mcp_unavailable',
  'mcp_failed',
  'message_too_large',
  'interrupted',
  'unsupported',
];

/** Codes of routes that make a sandbox from an image. */
export const imageErrors: readonly ErrorCode[] = [
  'image_not_found',
  'image_access_denied',
  'image_unsuitable',
  'registry_unavailable',
];

/** Codes of routes that change a workspace's state. */
export const changeErrors: readonly ErrorCode[] = [
  ...workspaceErrors,
  'provider_unknown',
  'provider_unavailable',
];

/** The error half of a route's responses, one entry per status, naming the codes behind it. */
export function errorResponses(...codes: readonly ErrorCode[]): Record<number, ErrorResponse> {
  return responsesFor([...everywhere, ...codes]);
}

/** The same for a route that takes no token. */
export function publicErrorResponses(
  ...codes: readonly ErrorCode[]
): Record<number, ErrorResponse> {
  return responsesFor(codes);
}

function responsesFor(codes: readonly ErrorCode[]): Record<number, ErrorResponse> {
  const byStatus = Map.groupBy(new Set(codes), (code) => errorStatus[code]);
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => [
      status,
      { description: names.join(', '), content: { 'application/json': { schema: errorBody } } },
    ]),
  );
}
