import type { CallToolResult } from '@modelcontextprotocol/server';
import type { EmergentError } from '../../domain/errors.ts';

/** For programs: a failed call's code, hint and details, which a model reads in the text. */
export const errorMetaKey = 'dev.emergent/error';

/** `text` is what a model reads, `structured` what a program does; both say the same. */
export function toolResult(text: string, structured: Record<string, unknown>): CallToolResult {
  return { content: [{ type: 'text', text }], structuredContent: structured };
}

/** A failure that the model should see and can act on, as opposed to one of the protocol. */
export function toolFailure({ code, message, hint, details }: EmergentError): CallToolResult {
  const lines = [`${code}: ${message}`, `Hint: ${hint}`];
  if (details) lines.push(`Details: ${JSON.stringify(details)}`);
  return {
    content: [{ type: 'text', text: lines.join('\n') }],
    isError: true,
    _meta: { [errorMetaKey]: { code, message, hint, ...(details && { details }) } },
  };
}
