import type { Transport } from '@connectrpc/connect';
import { createTransport } from '@connectrpc/connect/protocol-connect';
import type { GuestSend } from './http.ts';

const MiB = 2 ** 20;

/** Connect-RPC over a guest link. Messages from a sandbox are untrusted: their size is bounded. */
export function guestTransport(send: GuestSend): Transport {
  return createTransport({
    baseUrl: 'http://agent',
    useBinaryFormat: true,
    interceptors: [],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: Number.MAX_SAFE_INTEGER,
    readMaxBytes: 4 * MiB,
    writeMaxBytes: 64 * MiB,
    httpClient: async ({ url, method, header, body, signal }) => {
      const answer = await send({
        method,
        path: new URL(url).pathname,
        headers: Object.fromEntries(header),
        ...(body && { body }),
        ...(signal && { signal }),
      });
      return {
        status: answer.status,
        header: responseHeaders(answer.headers),
        body: answer.body as AsyncIterable<Uint8Array>,
        trailer: new Headers(),
      };
    },
  });
}

function responseHeaders(headers: NodeJS.Dict<string | string[]>): Headers {
  const plain = Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith(':') || value === undefined ? [] : [[name, String(value)] as const],
  );
  return new Headers(Object.fromEntries(plain));
}
