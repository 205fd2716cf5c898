import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { redact } from '../../../src/base/redact.ts';
import { recordLog } from '../../support/log.ts';

const censored = '[redacted]';

describe('redact', () => {
  test.each([
    ...['token', 'admin_token', 'accessToken', 'TOKEN', 'secret', 'clientSecret', 'password'],
    ...['PGPASSWORD', 'passwd', 'authorization', 'Authorization', 'cookie', 'Set-Cookie'],
    ...['apiKey', 'api_key', 'x-api-key', 'E2B_API_KEY', 'env'],
  ])('%s is censored', (name) => {
    expect(redact({ [name]: 'x' })).toEqual({ [name]: censored });
    expect(redact({ [name]: { nested: ['x'] } })).toEqual({ [name]: censored });
  });

  test.each(['token_id', 'tokenId', 'tokens', 'environment', 'key', 'envelope', 'name'])(
    '%s stays',
    (name) => {
      expect(redact({ [name]: 'x' })).toEqual({ [name]: 'x' });
    },
  );

  test('whatever the shape around it, a secret is not in the copy, and the original is untouched', () => {
    const secret = 'emt_a-secret';
    const shape = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'large' },
        fc.record({ token: fc.constant(secret), other: fc.string() }),
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(fc.string({ maxLength: 3 }), tie('node'), { maxKeys: 3 }),
      ),
    })).node;
    fc.assert(
      fc.property(shape, (value) => {
        const before = JSON.stringify(value);
        expect(JSON.stringify(redact(value))).not.toContain(secret);
        expect(JSON.stringify(value)).toBe(before);
      }),
    );
  });

  test('leaves everything that has its own way to be written', () => {
    const values = [new Date(0), new Error('x'), Buffer.from('x'), 7, null, undefined, 'text'];
    for (const value of values) expect(redact(value)).toBe(value);
    expect(redact({ token: undefined })).toEqual({ token: undefined });
  });

  test('a cycle through objects is cut', () => {
    const value: Record<string, unknown> = { name: 'a' };
    value['self'] = value;
    value['list'] = [value];
    expect(redact(value)).toEqual({ name: 'a', self: '[circular]', list: ['[circular]'] });
  });

  test('a cycle through arrays is cut', () => {
    const value: unknown[] = [1];
    value.push(value, { value });
    expect(redact(value)).toEqual([1, '[circular]', { value: '[circular]' }]);
  });

  test('a knot in which everything holds everything stays small', () => {
    const nodes = Array.from({ length: 60 }, (): Record<string, unknown> => ({}));
    for (const node of nodes) nodes.forEach((other, at) => (node[`n${String(at)}`] = other));
    const written = JSON.stringify(redact(nodes[0]));
    expect(written).toContain('[too much]');
    expect(written.length).toBeLessThan(2 ** 21);
  });

  test('what is deeper than any log needs is cut, in objects and in arrays', () => {
    let object: unknown = { token: 'x' };
    let array: unknown = ['x'];
    for (let depth = 0; depth < 100_000; depth++) {
      object = { object };
      array = [array];
    }
    expect(JSON.stringify(redact(object))).toContain('[too deep]');
    expect(JSON.stringify(redact(array))).toContain('[too deep]');
  });

  test('the same object twice, side by side, is no cycle', () => {
    const shared = { name: 'a', token: 'x' };
    const copy = { name: 'a', token: censored };
    expect(redact({ left: shared, right: [shared] })).toEqual({ left: copy, right: [copy] });
  });

  test('a log survives cyclic fields', () => {
    const { log, entries } = recordLog();
    const list: unknown[] = [];
    list.push(list);
    log.info('x', { list });
    log.child({ list }).info('y');
    expect(entries().map((entry) => entry.msg)).toEqual(['x', 'y']);
  });
});
