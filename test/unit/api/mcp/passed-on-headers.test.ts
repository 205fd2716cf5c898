import { expect, test } from 'vitest';
import { passedOnHeaders } from '../../../../src/api/mcp/proxy-headers.ts';

const marks = { 'x-request-id': 'r', 'emergent-forwarded-by': '7' };

test('the caller’s own headers pass, the token among them; what belongs to the connection does not', () => {
  const headers = {
    ...{ authorization: 'Bearer x', cookie: 'c', accept: '*/*', 'mcp-session-id': 's' },
    ...{ 'content-type': 'application/json', 'last-event-id': '3', 'x-forwarded-for': '10.0.0.9' },
    ...{ host: 'outside', expect: '100-continue', origin: 'http://outside', referer: 'http://x' },
    ...{ connection: 'close, X-Mine', 'x-mine': '1', 'keep-alive': '5', te: 'trailers' },
    ...{ upgrade: 'h2c', 'proxy-authorization': 'Basic x', trailer: 'x', 'proxy-connection': 'x' },
  };
  expect(passedOnHeaders(headers, 7, 'r')).toEqual({
    ...{ authorization: 'Bearer x', cookie: 'c', accept: '*/*', 'mcp-session-id': 's' },
    ...{ 'content-type': 'application/json', 'last-event-id': '3', 'x-forwarded-for': '10.0.0.9' },
    ...marks,
  });
});

test('marks of the caller’s own give way to ours', () => {
  const headers = { 'x-request-id': 'not\u00e4', 'emergent-forwarded-by': '8' };
  expect(passedOnHeaders(headers, 7, 'r')).toEqual(marks);
});

test.each([
  [{ 'content-length': '5' }, { 'content-length': '5' }],
  [{ 'content-length': '5', connection: 'content-length' }, { 'content-length': '5' }],
  [{ 'transfer-encoding': 'chunked' }, { 'transfer-encoding': 'chunked' }],
  [{ 'transfer-encoding': 'gzip, chunked' }, { 'transfer-encoding': 'chunked' }],
  [{}, {}],
])('how long the body is, is said as it was said here: %j', (headers, said) => {
  expect(passedOnHeaders(headers, 7, 'r')).toEqual({ ...said, ...marks });
});
