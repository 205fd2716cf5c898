import type { TokenStore } from '../../../../src/domain/store.ts';
import type { NewToken, Token } from '../../../../src/domain/token.ts';

/** Hashes are unique among live tokens. */
export class MemoryTokenStore implements TokenStore {
  readonly rows: (Token & NewToken)[] = [];

  async insert(token: NewToken): Promise<Token> {
    if (await this.findByHash(token.hash)) throw new Error('duplicate hash');
    const row = { ...token, revokedAt: null };
    this.rows.push(row);
    return row;
  }

  async findByHash(hash: string): Promise<Token | undefined> {
    return this.rows.find((row) => row.hash === hash && row.revokedAt === null);
  }

  async list(): Promise<readonly Token[]> {
    return this.rows;
  }

  async revoke(id: string, at: Date): Promise<boolean> {
    const index = this.rows.findIndex((row) => row.id === id && row.revokedAt === null);
    const row = this.rows[index];
    if (!row) return false;
    this.rows[index] = { ...row, revokedAt: at };
    return true;
  }
}
