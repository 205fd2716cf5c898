import { describe, expect, test } from 'vitest';
import { reasonOf } from '../../../src/base/reason.ts';
import { EmergentError, errorCodes } from '../../../src/domain/errors.ts';

describe('EmergentError', () => {
  test.each(errorCodes)('%s has a hint that is a sentence', (code) => {
    expect(new EmergentError(code, 'm').hint).toMatch(/^\S.+\.$/s);
  });

  test('a precise hint replaces the general one', () => {
    expect(new EmergentError('bad_id', 'm', { hint: 'Ask Eve.' }).hint).toBe('Ask Eve.');
  });

  test('keeps message, details and cause', () => {
    const cause = new Error('below');
    const error = new EmergentError('disk_full', 'no space left', { cause, details: { free: 0 } });
    expect(error).toMatchObject({
      name: 'EmergentError',
      code: 'disk_full',
      message: 'no space left',
      details: { free: 0 },
    });
    expect(error.cause).toBe(cause);
    expect('cause' in new EmergentError('internal', 'm')).toBe(false);
  });
});

test('reasonOf gives one line for whatever was thrown', () => {
  expect(reasonOf(new EmergentError('internal', 'why'))).toBe('why');
  expect(reasonOf('plain')).toBe('plain');
  expect(reasonOf(undefined)).toBe('undefined');
});
