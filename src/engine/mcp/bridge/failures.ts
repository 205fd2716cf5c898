import { EmergentError } from '../../../domain/errors.ts';
import { bridgeBounds } from './bounds.ts';

/** What goes wrong between a client and a program, in words. */
export const failures = {
  notIntroduced: () =>
    new EmergentError('mcp_unavailable', 'the MCP server has not introduced itself yet'),

  tooLate: (method: string, timeoutMs: number, begun: boolean) =>
    new EmergentError(
      'deadline_exceeded',
      begun
        ? `the MCP server did not answer ${shown(method)} within ${String(timeoutMs)} ms`
        : `${shown(method)} did not get its turn within ${String(timeoutMs)} ms: the MCP server is busy`,
    ),

  busy: (waiting: number) =>
    new EmergentError(
      'mcp_unavailable',
      `the MCP server is busy: ${String(waiting)} calls wait for their turn`,
      { hint: 'Try again later, or register it with a larger max_in_flight.' },
    ),

  doesNotRead: () =>
    new EmergentError('mcp_failed', 'the MCP server does not read its standard input'),

  notRead: () =>
    new EmergentError(
      'mcp_failed',
      `the MCP server has not read its standard input for ${String(bridgeBounds.writeTimeoutMs)} ms`,
    ),

  notWritten: (reason: string, cause: unknown) =>
    new EmergentError('mcp_failed', `the MCP server could not be told: ${reason}`, { cause }),

  brokenAnswer: () =>
    new EmergentError(
      'mcp_failed',
      'the MCP server answered with what is neither a result nor an error',
    ),

  answerTooLarge: () =>
    new EmergentError(
      'message_too_large',
      `the MCP server answered with more than ${String(bridgeBounds.incomingBytes)} bytes`,
    ),

  requestTooLarge: () =>
    new EmergentError(
      'invalid_value',
      `a message to an MCP server may have ${String(bridgeBounds.outgoingBytes)} bytes`,
    ),

  requestNotJson: (cause: unknown) =>
    new EmergentError('invalid_value', 'the message cannot be written as JSON', { cause }),
};

/** A method's name comes from outside, too. */
function shown(method: string): string {
  return method.length > 80 ? `${method.slice(0, 80)}…` : method;
}
