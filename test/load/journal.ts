import type { Reply } from '../chaos/api-client.ts';
import type { HandedOut } from './kills.ts';

export interface Create extends HandedOut {
  /** Undefined: there is no such workspace. */
  readonly id: string | undefined;
  /** Whether it had been waiting in a pool. */
  readonly warm: boolean;
  readonly reply: Reply;
}

/** What a client did in its workspace, and what was wrong with the answer; undefined: nothing. */
export interface Use {
  readonly what: 'first command' | 'second command' | 'destroy';
  readonly workspace: Create;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly complaint: string | undefined;
}

/** Everything that clients asked for and how it was answered; judged when the run is over and all kills are known. */
export class Journal {
  readonly creates: Create[] = [];
  readonly uses: Use[] = [];
}
