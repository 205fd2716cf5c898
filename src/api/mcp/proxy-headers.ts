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
