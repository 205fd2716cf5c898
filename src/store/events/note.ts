import type { Actor, EventType } from '../../domain/events.ts';
import type { SqlValue } from '../database.ts';
import { encodeRemark, encodeTime } from '../row.ts';

export interface ChangeNote {
  readonly at: Date;
  readonly by: Actor;
  readonly type: EventType;
  readonly detail: Readonly<Record<string, unknown>>;
}

/**
 * A statement's part that writes one event for each row of its part `changed`: both happen or neither. Its
 * parameters start at `$first`.
 */
export function noteChanged(first: number): string {
  const [at, actor, type, detail] = [0, 1, 2, 3].map((index) => `$${String(first + index)}`);
  return `insert into kb.workspace_events (at, workspace_id, owner, actor, type, detail)
          select ${at ?? ''}::timestamptz, id, owner, ${actor ?? ''}, ${type ?? ''}, ${detail ?? ''}::jsonb
            from changed`;
}

export function noteValues({ at, by, type, detail }: ChangeNote): readonly SqlValue[] {
  return [encodeTime(at), by, type, encodeDetail(detail)];
}

export function encodeDetail(
  detail: Readonly<Record<string, unknown>> | readonly object[],
): string {
  return JSON.stringify(detail, (_, value: unknown) =>
    typeof value === 'string' ? encodeRemark(value) : value,
  );
}
