import { EmergentError } from './errors.ts';
import type { Role } from './token.ts';
import type { Workspace } from './workspace.ts';

/** Who asks: the token behind a request. */
export interface Caller {
  readonly tokenId: string;
  readonly role: Role;
}

/** An agent sees only what it owns; to it, the rest does not exist. */
export function maySee(caller: Caller, workspace: Pick<Workspace, 'owner'>): boolean {
  return caller.role === 'admin' || workspace.owner === caller.tokenId;
}

/** For what concerns the whole server. */
export function requireAdmin(caller: Caller): void {
  if (caller.role !== 'admin') {
    throw new EmergentError('forbidden', 'this needs a token with the role admin');
  }
}
