import { createHash, randomBytes } from 'node:crypto';

/** An admin may do everything; an agent sees and uses only what it owns. */
export const roles = ['admin', 'agent'] as const;
export type Role = (typeof roles)[number];

/** A bearer token as it is kept: never the secret, only its hash. */
export interface Token {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

export interface NewToken {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly hash: string;
  readonly createdAt: Date;
}

/** 160 bits of randomness behind a prefix that secret scanners can recognise. */
export function newSecret(): string {
  return `emt_${randomBytes(20).toString('hex')}`;
}

/** Secrets are random and long, so one unsalted SHA-256 keeps them and can be looked up by index. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
