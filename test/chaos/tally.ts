import type { Reply } from './api-client.ts';

export const operationKinds = [
  'create',
  'bash',
  'write',
  'read',
  'stop',
  'resume',
  'recover',
  'process',
  'output',
  'status',
  'destroy',
] as const;
export type OperationKind = (typeof operationKinds)[number];

export interface OperationCounts {
  acknowledged: number;
  refused: number;
  unknown: number;
  /** The longest that an acknowledged one took. */
  longestMs: number;
}

/** Counts operations by kind and outcome, and refusals by their reason. */
export class Tally {
  readonly operations = new Map<OperationKind, OperationCounts>(
    operationKinds.map((kind) => [kind, { acknowledged: 0, refused: 0, unknown: 0, longestMs: 0 }]),
  );
  readonly refusals = new Map<string, number>();

  count(kind: OperationKind, reply: Reply): void {
    const counts = this.operations.get(kind);
    if (!counts) return;
    counts[reply.outcome] += 1;
    if (reply.outcome === 'acknowledged') counts.longestMs = Math.max(counts.longestMs, reply.ms);
    if (reply.outcome === 'refused') {
      const reason = `${kind}: ${reply.reason}`;
      this.refusals.set(reason, (this.refusals.get(reason) ?? 0) + 1);
    }
  }

  get acknowledged(): number {
    return [...this.operations.values()].reduce((sum, counts) => sum + counts.acknowledged, 0);
  }

  /** Whether each kind has been acknowledged; `recover` has its turn only when something went wrong. */
  get complete(): boolean {
    return [...this.operations].every(
      ([kind, counts]) => kind === 'recover' || counts.acknowledged > 0,
    );
  }

  get total(): number {
    const counts = [...this.operations.values()];
    return counts.reduce((sum, one) => sum + one.acknowledged + one.refused + one.unknown, 0);
  }
}
