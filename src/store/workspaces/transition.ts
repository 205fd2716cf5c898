import type { WorkspaceChanges } from '../../domain/store.ts';
import type { Workspace, WorkspaceStatus } from '../../domain/workspace.ts';
import type { Queryable, SqlValue } from '../database.ts';
import { encodeTime } from '../row.ts';
import { encodeLimits, workspaceFrom } from './row.ts';

/**
 * Race: of several transitions at once one takes the row's lock; the others wait for it, find the status it
 * wrote, which is not in their `from`, and change nothing.
 */
export async function transitionWorkspace(
  db: Queryable,
  id: string,
  from: readonly WorkspaceStatus[],
  to: WorkspaceStatus,
  changes: WorkspaceChanges = {},
): Promise<Workspace | undefined> {
  const changed = Object.values(encode(changes)).filter(
    (each): each is [string, SqlValue] => each[1] !== undefined,
  );
  // The parameters after $3 are the changed columns, in order.
  const assignments = changed.map(([column], index) => `, ${column} = $${String(index + 4)}`);
  const [row] = await db.query(
    `update kb.agent_workspaces
        set status = $3, version = version + 1${assignments.join('')}
      where id = $1 and status = any($2::text[])
      returning *`,
    [id, from, to, ...changed.map(([, value]) => value)],
  );
  return row && workspaceFrom(row);
}

/** Each change's column and value; undefined leaves the column as it is, null clears it. */
function encode(
  changes: WorkspaceChanges,
): Record<keyof WorkspaceChanges, [column: string, value: SqlValue | undefined]> {
  const { resourceLimits, metadata, lastUsedAt, expiresAt } = changes;
  return {
    statusReason: ['status_reason', changes.statusReason],
    resourceLimits: ['resource_limits', resourceLimits && encodeLimits(resourceLimits)],
    metadata: ['metadata', metadata && JSON.stringify(metadata)],
    lastUsedAt: ['last_used_at', lastUsedAt && encodeTime(lastUsedAt)],
    expiresAt: ['expires_at', expiresAt && encodeTime(expiresAt)],
    desiredState: ['desired_state', changes.desiredState],
    providerWorkspaceId: ['provider_workspace_id', changes.providerWorkspaceId],
    snapshotId: ['snapshot_id', changes.snapshotId],
  };
}
