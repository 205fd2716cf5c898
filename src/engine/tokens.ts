import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { requireAdmin } from '../domain/caller.ts';
import type { Caller } from '../domain/caller.ts';
import { EmergentError } from '../domain/errors.ts';
import type { TokenStore } from '../domain/store.ts';
import { hashSecret, newSecret } from '../domain/token.ts';
import type { Role, Token } from '../domain/token.ts';

const bootstrapPrefix = 'bootstrap-admin';
/**
 * How long a token that was found is believed without asking again: what another server has revoked works here for so
 * much longer, and a caller with many small requests does not wait for the database at each.
 */
const believedMs = 1_000;
const mostKnown = 1_000;

/** Bearer tokens: made, listed, revoked, and turned into callers. Only hashes are kept. */
export class Tokens {
  readonly #store: TokenStore;
  readonly #clock: Clock;
  readonly #known = new Map<string, { readonly caller: Caller; readonly until: number }>();
  #revocations = 0;

  constructor(store: TokenStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async authenticate(secret: string): Promise<Caller> {
    const hash = hashSecret(secret);
    const known = this.#known.get(hash);
    if (known && this.#clock.monotonic() < known.until) return known.caller;
    const asked = this.#revocations;
    const token = await this.#store.findByHash(hash);
    if (!token) throw new EmergentError('unauthenticated', 'the token is not valid here');
    const caller: Caller = { tokenId: token.id, role: token.role };
    // Not where one was revoked meanwhile: the answer may be older.
    if (asked === this.#revocations) this.#remember(hash, caller);
    return caller;
  }

  /** The secret is returned here and never again. */
  async create(
    caller: Caller,
    name: string,
    role: Role,
  ): Promise<{ token: Token; secret: string }> {
    requireAdmin(caller);
    if (name.startsWith(bootstrapPrefix)) {
      throw new EmergentError(
        'invalid_value',
        `names with ${bootstrapPrefix} belong to the server`,
      );
    }
    const secret = newSecret();
    return { token: await this.#insert(name, role, secret), secret };
  }

  async list(caller: Caller): Promise<readonly Token[]> {
    requireAdmin(caller);
    return this.#store.list();
  }

  async revoke(caller: Caller, id: string): Promise<void> {
    requireAdmin(caller);
    if (id === caller.tokenId) {
      throw new EmergentError('invalid_value', 'a token cannot revoke itself', {
        hint: 'Use another admin token to revoke this one.',
      });
    }
    if (!(await this.#revokeNow(id))) {
      throw new EmergentError('token_not_found', `there is no live token ${id}`);
    }
  }

  /**
   * Makes `secret` the admin token that the server at `place` hands out; an earlier one of the same place stops
   * working, those of other servers on the database do not.
   */
  async installBootstrapAdmin(secret: string, place: string): Promise<void> {
    const name = `${bootstrapPrefix} ${place}`;
    const hash = hashSecret(secret);
    const current = await this.#store.findByHash(hash);
    for (const token of await this.#store.list()) {
      const earlier = token.name === name && token.revokedAt === null && token.id !== current?.id;
      if (earlier) await this.#revokeNow(token.id);
    }
    if (current) return;
    try {
      await this.#insert(name, 'admin', secret);
    } catch (error) {
      // Another server with the same token may have been faster.
      if (!(await this.#store.findByHash(hash))) throw error;
    }
  }

  #remember(hash: string, caller: Caller): void {
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(hash, { caller, until: this.#clock.monotonic() + believedMs });
  }

  /** Forgotten before and after: a request that comes meanwhile may have found it still alive. */
  async #revokeNow(id: string): Promise<boolean> {
    this.#forget();
    try {
      return await this.#store.revoke(id, this.#clock.now());
    } finally {
      this.#forget();
    }
  }

  #forget(): void {
    this.#revocations += 1;
    this.#known.clear();
  }

  #insert(name: string, role: Role, secret: string): Promise<Token> {
    return this.#store.insert({
      id: randomUUID(),
      name,
      role,
      hash: hashSecret(secret),
      createdAt: this.#clock.now(),
    });
  }
}
