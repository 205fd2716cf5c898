import type { TokenStore } from '../domain/store.ts';
import { roles, type NewToken, type Token } from '../domain/token.ts';
import type { Queryable, Row } from './database.ts';
import { onlyRow } from './only-row.ts';
import { encodeTime, oneOf, text, time, timeOrNull } from './row.ts';

export function tokenStore(db: Queryable): TokenStore {
  return {
    insert: (token) => insertToken(db, token),
    findByHash: (hash) => findLiveToken(db, hash),
    list: () => listTokens(db),
    revoke: (id, at) => revokeToken(db, id, at),
  };
}

/** Race: ids and hashes are unique; the second of two equal inserts fails. */
async function insertToken(db: Queryable, token: NewToken): Promise<Token> {
  const rows = await db.query(
    `insert into kb.api_tokens (id, name, role, token_hash, created_at)
     values ($1, $2, $3, $4, $5)
     returning id, name, role, created_at, revoked_at`,
    [token.id, token.name, token.role, token.hash, encodeTime(token.createdAt)],
  );
  return tokenFrom(onlyRow(rows));
}

/** Race: a token revoked after this read is refused from the next request on. */
async function findLiveToken(db: Queryable, hash: string): Promise<Token | undefined> {
  const [row] = await db.query(
    `select id, name, role, created_at, revoked_at
       from kb.api_tokens
      where token_hash = $1 and revoked_at is null`,
    [hash],
  );
  return row && tokenFrom(row);
}

async function listTokens(db: Queryable): Promise<readonly Token[]> {
  const rows = await db.query(
    'select id, name, role, created_at, revoked_at from kb.api_tokens order by created_at, id',
  );
  return rows.map((row) => tokenFrom(row));
}

/** Race: of two revocations at once the first one's time stays, and only it answers true. */
async function revokeToken(db: Queryable, id: string, at: Date): Promise<boolean> {
  const rows = await db.query(
    'update kb.api_tokens set revoked_at = $2 where id = $1 and revoked_at is null returning id',
    [id, encodeTime(at)],
  );
  return rows.length > 0;
}

function tokenFrom(row: Row): Token {
  return {
    id: text(row, 'id'),
    name: text(row, 'name'),
    role: oneOf(row, 'role', roles),
    createdAt: time(row, 'created_at'),
    revokedAt: timeOrNull(row, 'revoked_at'),
  };
}
