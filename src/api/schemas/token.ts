import { z } from 'zod';
import { roles } from '../../domain/token.ts';
import type { Token } from '../../domain/token.ts';
import { id, text, timestamp } from './text.ts';

export const createTokenBody = z
  .strictObject({ name: text(100), role: z.enum(roles) })
  .meta({ id: 'CreateToken' });

const facts = { id, name: z.string(), role: z.enum(roles), created_at: timestamp };

export const createdToken = z
  .object({ ...facts, token: z.string().describe('The secret. It is never shown again.') })
  .meta({ id: 'CreatedToken' });

const token = z.object({ ...facts, revoked_at: timestamp.nullable() }).meta({ id: 'Token' });

export const tokenList = z.object({ items: z.array(token) }).meta({ id: 'TokenList' });

export function presentToken(from: Token): z.output<typeof token> {
  return {
    id: from.id,
    name: from.name,
    role: from.role,
    created_at: from.createdAt.toISOString(),
    revoked_at: from.revokedAt?.toISOString() ?? null,
  };
}

export function presentCreatedToken(from: Token, secret: string): z.output<typeof createdToken> {
  return {
    id: from.id,
    name: from.name,
    role: from.role,
    created_at: from.createdAt.toISOString(),
    token: secret,
  };
}
