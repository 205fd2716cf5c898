import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { withDeadline } from '../../base/deadline.ts';
import { reasonOf } from '../../base/reason.ts';
import { EmergentError } from '../../domain/errors.ts';
import type { JsonRpcOutcome, JsonRpcRequest } from '../../domain/json-rpc.ts';
import type { CallOnceOptions } from './call-once.ts';
import type { McpHttpTarget } from './operations.ts';

const anyResult = z.looseObject({});
const closeMs = 2_000;

/** Calls a server that serves HTTP itself, in a session that begins and ends with the call. */
export async function callOverHttp(
  target: McpHttpTarget,
  { method, params }: JsonRpcRequest,
  { timeoutMs, signal }: CallOnceOptions,
): Promise<JsonRpcOutcome> {
  const client = new Client({ name: 'emergent-workspaces', version: '1' });
  const url = new URL(`http://localhost${target.path}`);
  const transport = new StreamableHTTPClientTransport(url, {
    fetch: (input, init) => fetchThrough(target, new URL(input), init ?? {}),
  });
  try {
    return await withDeadline(
      `a call of ${method}`,
      timeoutMs,
      async (inner) => {
        await client.connect(transport, { signal: inner, timeout: timeoutMs });
        const request = { method, ...(params && { params: { ...params } }) };
        const options = { signal: inner, timeout: timeoutMs };
        return { result: await client.request(request, anyResult, options) };
      },
      signal,
    );
  } catch (error) {
    signal.throwIfAborted();
    if (ProtocolError.isInstance(error)) {
      const { code, message, data } = error;
      return { error: { code, message, ...(data !== undefined && { data }) } };
    }
    if (error instanceof EmergentError) throw error;
    throw new EmergentError('mcp_failed', `the call failed: ${reasonOf(error)}`, { cause: error });
  } finally {
    await withDeadline('the end of a session', closeMs, () => client.close()).catch(
      () => undefined,
    );
  }
}

/** An HTTP request on a stream of its own into the sandbox. */
async function fetchThrough(
  target: McpHttpTarget,
  url: URL,
  { method = 'GET', headers, body, signal }: RequestInit,
): Promise<Response> {
  const socket = await target.dial(signal ?? AbortSignal.timeout(closeMs));
  const answer = Promise.withResolvers<IncomingMessage>();
  const outgoing = httpRequest(
    {
      ...{ method, path: `${url.pathname}${url.search}`, host: 'localhost' },
      headers: Object.fromEntries(new Headers(headers)),
      createConnection: () => socket,
      ...(signal && { signal }),
    },
    answer.resolve,
  );
  outgoing.on('error', answer.reject);
  outgoing.end(typeof body === 'string' ? body : undefined);
  const incoming = await answer.promise;
  incoming.once('close', () => socket.destroy());
  const status = incoming.statusCode ?? 502;
  const empty = [204, 205, 304].includes(status) || status < 200;
  if (empty) incoming.resume();
  const content = empty ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
  const pairs = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  return new Response(content, {
    status,
    headers: pairs,
  });
}
