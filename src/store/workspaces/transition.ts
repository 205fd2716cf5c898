import type { Transition, WorkspaceChanges } from '../../domain/store.ts';
import { isChanging, type Workspace } from '../../domain/workspace.ts';
import type { Queryable, SqlValue } from '../database.ts';
import { noteChanged, noteValues } from '../events/note.ts';
import { encodeRemark, encodeTime } from '../row.ts';
import { encodeLimits, workspaceFrom } from './row.ts';

/**
 * Race: of several transitions at once one takes the row's lock; the others wait for it, find the status it wrote,
 * which is not in their `from`, or its operator, and change nothing. The event is written by the same statement.
 */
export async function transitionWorkspace(
  db: Queryable,
  server: number,
  id: string,
  { from, to, own = false, changes = {}, by, detail }: Transition,
  at: Date,
): Promise<Workspace | undefined> {
  const reason = changes.statusReason ?? null;
  const note = noteValues({
    at,
    by,
    type: `workspace.${to}`,
    detail: { ...detail, ...(reason === null ? {} : { reason }) },
  });
  const fixed = [
    id,
    from,
    own ? server : null,
    to,
    isChanging(to) ? server : null,
    reason === null ? null : encodeRemark(reason),
    ...note,
  ];
  const changed = Object.values(encode(changes)).filter(
    (each): each is [string, SqlValue] => each[1] !== undefined,
  );
  // The parameters behind the fixed ones are the changed columns, in order.
  const assignments = changed.map(
    ([column], index) => `, ${column} = $${String(fixed.length + 1 + index)}`,
  );
  const [row] = await db.query(
    `with changed as (
       update kb.agent_workspaces
          set status = $4, version = version + 1, operator = $5,
              status_reason = $6${assignments.join('')}
        where id = $1 and status = any($2::text[]) and ($3::integer is null or operator = $3)
       returning *
     ), noted as (${noteChanged(7)})
     select * from changed`,
    [...fixed, ...changed.map(([, value]) => value)],
  );
  return row && workspaceFrom(row);
}

/** Each change's column and value; undefined leaves the column as it is, null clears it. */
function encode(
  changes: WorkspaceChanges,
): Record<
  Exclude<keyof WorkspaceChanges, 'statusReason'>,
  [column: string, value: SqlValue | undefined]
> {
  const { resourceLimits, metadata, lastUsedAt, readyAt, expiresAt } = changes;
  return {
    provider: ['provider', changes.provider],
    resourceLimits: ['resource_limits', resourceLimits && encodeLimits(resourceLimits)],
    metadata: ['metadata', metadata && JSON.stringify(metadata)],
    lastUsedAt: ['last_used_at', lastUsedAt && encodeTime(lastUsedAt)],
    readyAt: ['ready_at', readyAt && encodeTime(readyAt)],
    expiresAt: ['expires_at', expiresAt && encodeTime(expiresAt)],
    desiredState: ['desired_state', changes.desiredState],
    providerWorkspaceId: ['provider_workspace_id', changes.providerWorkspaceId],
    snapshotId: ['snapshot_id', changes.snapshotId],
    sealedEnv: ['sealed_env', changes.sealedEnv],
  };
}
