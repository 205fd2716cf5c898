import { describe, expect, test, vi } from 'vitest';
import type { Caller } from '../../../src/domain/caller.ts';
import { hashSecret } from '../../../src/domain/token.ts';
import { Tokens } from '../../../src/engine/tokens.ts';
import { FakeClock } from '../../support/clock.ts';
import { MemoryTokenStore } from './support/memory-tokens.ts';

const admin: Caller = { tokenId: 'an admin', role: 'admin' };
const agent: Caller = { tokenId: 'an agent', role: 'agent' };

function setUp(): { tokens: Tokens; store: MemoryTokenStore; clock: FakeClock } {
  const store = new MemoryTokenStore();
  const clock = new FakeClock();
  return { tokens: new Tokens(store, clock), store, clock };
}

const here = 'host:/data';

describe('Tokens', () => {
  test('a new token authenticates as what it was made, and only its hash is kept', async () => {
    const { tokens, store, clock } = setUp();
    const { token, secret } = await tokens.create(admin, 'ci', 'agent');
    expect(token).toMatchObject({ name: 'ci', role: 'agent', createdAt: clock.now() });
    expect(await tokens.authenticate(secret)).toEqual({ tokenId: token.id, role: 'agent' });
    expect(store.rows[0]?.hash).toBe(hashSecret(secret));
    expect(JSON.stringify(store.rows)).not.toContain(secret);
  });

  test('one that was found is believed for a second, but not after it was revoked here', async () => {
    const { tokens, store, clock } = setUp();
    const { token, secret } = await tokens.create(admin, 'ci', 'agent');
    const asked = vi.spyOn(store, 'findByHash');
    await tokens.authenticate(secret);
    await tokens.authenticate(secret);
    expect(asked).toHaveBeenCalledTimes(1);
    await clock.advance(1_000);
    await tokens.authenticate(secret);
    expect(asked).toHaveBeenCalledTimes(2);
    await tokens.revoke(admin, token.id);
    await expect(tokens.authenticate(secret)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  test('one that is revoked while it is looked for is not remembered', async () => {
    const { tokens, store } = setUp();
    const { token, secret } = await tokens.create(admin, 'ci', 'agent');
    const find = store.findByHash.bind(store);
    vi.spyOn(store, 'findByHash').mockImplementationOnce(async (hash) => {
      const found = await find(hash);
      await tokens.revoke(admin, token.id);
      return found;
    });
    await tokens.authenticate(secret);
    await expect(tokens.authenticate(secret)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  test('an unknown secret is refused', async () => {
    const { tokens } = setUp();
    await expect(tokens.authenticate('emt_guess')).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });

  test('an agent may neither make, list nor revoke tokens', async () => {
    const { tokens, store } = setUp();
    const { token } = await tokens.create(admin, 'ci', 'agent');
    const refused = { code: 'forbidden' };
    await expect(tokens.create(agent, 'x', 'admin')).rejects.toMatchObject(refused);
    await expect(tokens.list(agent)).rejects.toMatchObject(refused);
    await expect(tokens.revoke(agent, token.id)).rejects.toMatchObject(refused);
    expect(store.rows).toMatchObject([{ revokedAt: null }]);
  });

  test('a revoked token is refused from then on, and cannot be revoked twice', async () => {
    const { tokens } = setUp();
    const { token, secret } = await tokens.create(admin, 'ci', 'agent');
    await tokens.revoke(admin, token.id);
    await expect(tokens.authenticate(secret)).rejects.toMatchObject({ code: 'unauthenticated' });
    const again = tokens.revoke(admin, token.id);
    await expect(again).rejects.toMatchObject({ code: 'token_not_found' });
  });

  test('an operator may return to an earlier admin token', async () => {
    const { tokens } = setUp();
    for (const secret of ['first', 'second', 'first'])
      await tokens.installBootstrapAdmin(secret, here);
    expect(await tokens.authenticate('first')).toMatchObject({ role: 'admin' });
    await expect(tokens.authenticate('second')).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  test("nobody may take the name of the server's own token", async () => {
    const { tokens } = setUp();
    const taken = tokens.create(admin, 'bootstrap-admin', 'admin');
    await expect(taken).rejects.toMatchObject({ code: 'invalid_value' });
  });

  test('a token cannot revoke itself', async () => {
    const { tokens } = setUp();
    const { secret } = await tokens.create(admin, 'mine', 'admin');
    const me = await tokens.authenticate(secret);
    const refused = { code: 'invalid_value' };
    await expect(tokens.revoke(me, me.tokenId)).rejects.toMatchObject(refused);
    expect(await tokens.authenticate(secret)).toEqual(me);
  });
});

describe('the bootstrap admin token', () => {
  const [first, second] = ['emt_first-secret', 'emt_second-secret'] as const;

  test('is installed once, however often the server starts', async () => {
    const { tokens, store } = setUp();
    await tokens.installBootstrapAdmin(first, here);
    await tokens.installBootstrapAdmin(first, here);
    expect(store.rows).toHaveLength(1);
    expect(await tokens.authenticate(first)).toMatchObject({ role: 'admin' });
  });

  test('a new one revokes the old one, and no other token', async () => {
    const { tokens } = setUp();
    await tokens.installBootstrapAdmin(first, here);
    const { secret } = await tokens.create(admin, 'ci', 'admin');
    await tokens.installBootstrapAdmin(second, here);
    await expect(tokens.authenticate(first)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await tokens.authenticate(second)).toMatchObject({ role: 'admin' });
    expect(await tokens.authenticate(secret)).toMatchObject({ role: 'admin' });
  });

  test('another server on the same database has one of its own', async () => {
    const { tokens } = setUp();
    await tokens.installBootstrapAdmin(first, here);
    await tokens.installBootstrapAdmin(second, 'other:/data');
    for (const secret of [first, second]) {
      expect(await tokens.authenticate(secret)).toMatchObject({ role: 'admin' });
    }
  });

  test('two servers with the same one may start at once', async () => {
    const { tokens, store } = setUp();
    const findByHash = store.findByHash.bind(store);
    await tokens.installBootstrapAdmin(first, here);
    // The other one is not there yet when this one looks, and in its way when it writes; `insert` looks too.
    const look = vi.spyOn(store, 'findByHash').mockResolvedValueOnce(undefined);
    look.mockImplementation(findByHash);
    await tokens.installBootstrapAdmin(first, 'other:/data');
    expect(store.rows).toHaveLength(1);
    const broken = new Error('no database');
    vi.spyOn(store, 'insert').mockRejectedValueOnce(broken);
    await expect(tokens.installBootstrapAdmin(second, here)).rejects.toBe(broken);
  });
});
