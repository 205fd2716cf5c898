import type { McpServer } from '../../../src/domain/mcp.ts';
import type { McpApi } from './mcp-api.ts';

export interface RawSession {
  readonly sessionId: string;
  send(method: string, token?: string): Promise<Response>;
  call(method: string): Promise<unknown>;
}

/** A client that has the id of a session and nothing else, as one does whose server was restarted. */
export function rawSession(on: McpApi, server: McpServer, sessionId: string): RawSession {
  const send = (method: string, token = 'the-admin'): Promise<Response> =>
    fetch(on.gatewayOf(server), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-session-id': sessionId,
        'mcp-protocol-version': '2025-11-25',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: {} }),
    });
  return {
    sessionId,
    send,
    call: async (method) => {
      const text = await (await send(method)).text();
      return JSON.parse(text.slice(text.indexOf('{'))) as unknown;
    },
  };
}
