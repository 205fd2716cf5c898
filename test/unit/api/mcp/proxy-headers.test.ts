import { expect, test } from 'vitest';
import { answerHeaders, requestHeaders } from '../../../../src/api/mcp/proxy-headers.ts';

test('what belongs to a connection, or to us, does not pass', () => {
  const headers = {
    ...{ authorization: 'Bearer x', cookie: 'c', host: 'outside', origin: 'http://localhost' },
    ...{ connection: 'keep-alive, X-Mine', 'x-mine': '1', 'keep-alive': '5', te: 'trailers' },
    ...{ 'transfer-encoding': 'chunked', upgrade: 'h2c', expect: '100-continue' },
    ...{ 'content-length': '99', accept: 'text/event-stream', 'mcp-session-id': 's' },
  };
  expect(requestHeaders(headers, 8080, Buffer.from('{}'))).toEqual({
    ...{ host: 'localhost:8080', 'content-length': '2' },
    ...{ accept: 'text/event-stream', 'mcp-session-id': 's' },
  });
  expect(requestHeaders({}, 1, Buffer.alloc(0))).toEqual({ host: 'localhost:1' });
});

test('an answer keeps its length and its own headers', () => {
  const headers = { 'content-length': '3', 'set-cookie': ['a', 'b'], connection: 'close' };
  expect(answerHeaders(headers)).toEqual({ 'content-length': '3', 'set-cookie': ['a', 'b'] });
});
