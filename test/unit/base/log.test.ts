import { describe, expect, test } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import { recordLog } from '../../support/log.ts';

describe('log', () => {
  test('writes one JSON line per message with level, time and fields', () => {
    const { log, lines, entries } = recordLog();
    log.info('created', { workspace: 'w1', ms: 12 });
    expect(lines).toHaveLength(1);
    expect(entries()[0]).toMatchObject({ level: 'info', msg: 'created', workspace: 'w1', ms: 12 });
    expect(Date.parse(String(entries()[0]?.['time']))).not.toBeNaN();
  });

  test('leaves out what is below its level', () => {
    const { log, entries } = recordLog('warn');
    log.debug('a');
    log.info('b');
    log.warn('c');
    log.error('d');
    expect(entries().map((entry) => entry.msg)).toEqual(['c', 'd']);
  });

  test('a child carries its fields on every line', () => {
    const { log, entries } = recordLog();
    log.child({ request_id: 'r1' }).child({ workspace: 'w1' }).warn('slow', { ms: 9 });
    expect(entries()[0]).toMatchObject({ request_id: 'r1', workspace: 'w1', ms: 9 });
  });

  test('writes an error with its stack and its causes', () => {
    const { log, entries } = recordLog();
    const cause = new Error('connection refused');
    log.error('create failed', {
      err: new EmergentError('provider_failed', 'no engine', { cause }),
    });
    expect(entries()[0]?.['err']).toMatchObject({
      message: 'no engine',
      code: 'provider_failed',
      stack: expect.stringContaining('log.test.ts') as unknown,
      cause: { message: 'connection refused' },
    });
  });

  const secret = 'emt_0123456789abcdef';
  const places: [string, Record<string, unknown>][] = [
    ['at the top', { token: secret }],
    ['one level down', { headers: { authorization: `Bearer ${secret}` } }],
    ['two levels down', { request: { headers: { authorization: secret } } }],
    ['an environment', { spec: { env: { API: secret } } }],
    ['a list of objects', { tokens: [{ secret }] }],
    ['camel case', { settings: { apiKey: secret } }],
    ['snake case', { api_key: secret }],
    ['five levels down', { a: { b: { c: { d: { token: secret } } } } }],
    ['in capitals', { headers: { Authorization: secret } }],
    ['with a prefix', { admin_token: secret }],
    ['a password', { database: { password: secret } }],
  ];
  test.each(places)('redacts secrets %s', (_place, fields) => {
    const { log, lines } = recordLog();
    log.info('x', fields);
    log.child(fields).info('y');
    expect(lines.join('')).not.toContain(secret);
    expect(lines.join('').match(/\[redacted\]/g)).toHaveLength(2);
  });

  test('keeps fields that only resemble secrets', () => {
    const { log, entries } = recordLog();
    log.info('x', { token_id: 't1', environment: 'production' });
    expect(entries()[0]).toMatchObject({ token_id: 't1', environment: 'production' });
  });
});
