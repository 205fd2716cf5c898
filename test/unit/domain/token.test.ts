import { describe, expect, test } from 'vitest';
import { hashSecret, newSecret } from '../../../src/domain/token.ts';

describe('tokens', () => {
  test('a secret is recognisable, long and never the same twice', () => {
    const secrets = new Set(Array.from({ length: 1000 }, newSecret));
    expect(secrets.size).toBe(1000);
    for (const secret of secrets) expect(secret).toMatch(/^emt_[0-9a-f]{40}$/);
  });

  test('the hash is the hex SHA-256 of the secret', () => {
    expect(hashSecret('abc')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });
});
