import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { hashSecret, newSecret, type NewToken, type Token } from '../../src/domain/token.ts';
import type { Subject } from './suite.ts';

function newToken(overrides: Partial<NewToken> = {}): NewToken {
  return {
    id: randomUUID(),
    name: 'ci runner 🏃',
    role: 'agent',
    hash: hashSecret(newSecret()),
    createdAt: new Date('2026-01-02T03:04:05.678Z'),
    ...overrides,
  };
}

function asKept({ id, name, role, createdAt }: NewToken): Token {
  return { id, name, role, createdAt, revokedAt: null };
}

export function tokenTests(subject: () => Subject): void {
  test('a token is found by its hash, and comes back without it', async () => {
    const { tokens } = subject().store;
    const token = newToken();
    expect(await tokens.insert(token)).toEqual(asKept(token));
    expect(await tokens.findByHash(token.hash)).toEqual(asKept(token));
    expect(await tokens.findByHash(hashSecret('another'))).toBeUndefined();
  });

  test('a revoked token is not found but still listed, with its time', async () => {
    const { tokens } = subject().store;
    const token = newToken({ role: 'admin' });
    await tokens.insert(token);
    const revokedAt = new Date('2026-02-03T04:05:06.789Z');
    expect(await tokens.revoke(token.id, revokedAt)).toBe(true);
    expect(await tokens.findByHash(token.hash)).toBeUndefined();
    expect(await tokens.list()).toEqual([{ ...asKept(token), revokedAt }]);
  });

  test('of two revocations at once one wins; later ones keep its time', async () => {
    const { tokens } = subject().store;
    const token = newToken();
    await tokens.insert(token);
    const answers = await Promise.all([
      tokens.revoke(token.id, new Date('2026-02-01Z')),
      tokens.revoke(token.id, new Date('2026-02-01Z')),
    ]);
    expect(answers.toSorted()).toEqual([false, true]);
    expect(await tokens.revoke(token.id, new Date('2026-03-01Z'))).toBe(false);
    expect((await tokens.list())[0]?.revokedAt).toEqual(new Date('2026-02-01Z'));
    expect(await tokens.revoke(randomUUID(), new Date('2026-03-01Z'))).toBe(false);
  });

  test('tokens are listed oldest first', async () => {
    const { tokens } = subject().store;
    expect(await tokens.list()).toEqual([]);
    const younger = newToken({ createdAt: new Date('2026-02-01Z') });
    const older = newToken({ createdAt: new Date('2026-01-01Z') });
    await tokens.insert(younger);
    await tokens.insert(older);
    expect(await tokens.list()).toEqual([asKept(older), asKept(younger)]);
  });

  test('the hash of a revoked token can be used again', async () => {
    const { tokens } = subject().store;
    const first = newToken();
    await tokens.insert(first);
    await tokens.revoke(first.id, new Date());
    const second = await tokens.insert(newToken({ hash: first.hash }));
    expect(await tokens.findByHash(first.hash)).toEqual(second);
  });

  test('two live tokens cannot share a hash', async () => {
    const { tokens } = subject().store;
    const token = newToken();
    await tokens.insert(token);
    await expect(tokens.insert(newToken({ hash: token.hash }))).rejects.toThrow(
      'token_hash_unique',
    );
  });
}
