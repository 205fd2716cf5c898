import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

/** Of one connection, not of the message; what `Connection` names comes on top. */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Ours, and nothing to the program behind: the token above all. The Origin was judged here; a program that judges it
 * too would hold it against an address that it cannot know.
 */
const ours: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'host',
  'origin',
  'referer',
  'expect',
  'content-length',
]);

export function requestHeaders(
  from: IncomingHttpHeaders,
  port: number,
  body: Buffer,
): OutgoingHttpHeaders {
  return {
    ...endToEnd(from, ours),
    host: `localhost:${String(port)}`,
    ...(body.length > 0 && { 'content-length': String(body.length) }),
  };
}

/** Marks a request that one server of ours has passed on to another, with the number of the one that did. */
export const forwardedBy = 'emergent-forwarded-by';

/** What a connection to another server of ours has of its own; that one knows and judges all else. */
const ofTheWayHere: ReadonlySet<string> = new Set([
  'host',
  'expect',
  // Judged where the browser's request came in, by names that the next server does not have.
  'origin',
  'referer',
]);

/**
 * For another server of ours: the caller's own headers, the token among them. How long the body is, is said again as it
 * was said here, whatever the caller calls hop by hop: a body without a length would be read as a request of its own.
 */
export function passedOnHeaders(
  from: IncomingHttpHeaders,
  by: number,
  requestId: string,
): OutgoingHttpHeaders {
  const length = from['content-length'];
  const isChunked = length === undefined && from['transfer-encoding'] !== undefined;
  return {
    ...endToEnd(from, ofTheWayHere),
    ...(length !== undefined && { 'content-length': length }),
    ...(isChunked && { 'transfer-encoding': 'chunked' }),
    // The same in both logs.
    'x-request-id': requestId,
    [forwardedBy]: String(by),
  };
}

export function answerHeaders(from: IncomingHttpHeaders): OutgoingHttpHeaders {
  return endToEnd(from, noneOfOurs);
}

const noneOfOurs: ReadonlySet<string> = new Set();

function endToEnd(from: IncomingHttpHeaders, without: ReadonlySet<string>): OutgoingHttpHeaders {
  const named = (from.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const kept = Object.entries(from).filter(
    ([name]) => !hopByHop.has(name) && !without.has(name) && !named.includes(name),
  );
  return Object.fromEntries(kept);
}
