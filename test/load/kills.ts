/** By the engine's own call, or as when the process of the sandbox ends by itself. */
export const killKinds = ['engine', 'process'] as const;
export type KillKind = (typeof killKinds)[number];

/** A sandbox that was ended while, as far as the killer knew, it waited in a pool. Times are monotonic. */
export interface Kill {
  readonly id: string;
  readonly kind: KillKind;
  readonly beganAt: number;
  /** From here on it is dead; undefined: nobody knows, because the kill itself failed. */
  readonly deadAt: number | undefined;
  readonly failure?: string;
  /** What its row said after that: still waiting, gone, or somebody's. */
  readonly after: 'warm' | 'gone' | 'taken';
}

/** When a workspace was asked for and when its caller had it. */
export interface HandedOut {
  readonly sentAt: number;
  readonly answeredAt: number;
}

/**
 * Whether a kill can be why a workspace did not work for its caller: it struck when the workspace was in use or was
 * just being handed out. One that was dead while it still waited should never have been handed out.
 */
export function excuses(kill: Kill, { sentAt }: HandedOut): boolean {
  if (kill.deadAt === undefined) return true;
  if (kill.after === 'warm') return false;
  return kill.deadAt > sentAt;
}
