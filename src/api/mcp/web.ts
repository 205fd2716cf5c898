import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** What a client may have unread of one stream before it is let go: a few messages of the largest size. */
const maxUnreadBytes = 64 * 2 ** 20;
const keepAliveMs = 30_000;
const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding']);

/** The SDK's picture of a request: its method and the headers that it looks at. The body goes beside it, parsed. */
export function toWebRequest(request: FastifyRequest, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === 'string' && isLookedAt(name)) headers.set(name, value);
  }
  return new Request('http://localhost/', { method: request.method, headers, signal });
}

function isLookedAt(name: string): boolean {
  return (
    name === 'accept' ||
    name === 'content-type' ||
    name === 'last-event-id' ||
    name.startsWith('mcp-')
  );
}

/** Answers with what the SDK made. A stream goes out as it comes, until it ends or its client is gone. */
export async function sendWebResponse(response: Response, reply: FastifyReply): Promise<void> {
  const headers = plainHeaders(response);
  const isStream = headers['content-type']?.startsWith('text/event-stream') ?? false;
  if (response.body === null || !isStream) {
    const text = await response.text();
    await reply
      .code(response.status)
      .headers(headers)
      .send(text === '' ? undefined : text);
    return;
  }
  reply.hijack();
  const { raw } = reply;
  // Readers may pause for as long as they like; keep-alive finds one that is gone.
  raw.socket?.setKeepAlive(true, keepAliveMs);
  raw.writeHead(response.status, { ...(reply.getHeaders() as OutgoingHttpHeaders), ...headers });
  raw.flushHeaders();
  await pump(response.body.getReader(), reply);
}

/**
 * Never waits for a slow client: what the program says would collect in the SDK's stream, where nothing bounds it.
 * It collects in the connection instead, and a client that leaves too much unread loses it.
 */
async function pump(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { raw }: FastifyReply,
): Promise<void> {
  const onClose = (): void => {
    void reader.cancel();
  };
  raw.once('close', onClose);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || raw.destroyed) break;
      raw.write(value);
      if (raw.writableLength > maxUnreadBytes) raw.destroy();
    }
  } finally {
    raw.off('close', onClose);
    raw.end();
  }
}

function plainHeaders(response: Response): Record<string, string> {
  const entries = [...response.headers].filter(([name]) => !hopByHop.has(name));
  return Object.fromEntries(entries);
}
