import type { NewWorkspace, Refused } from '../../domain/store.ts';
import { runningStatuses, type Workspace } from '../../domain/workspace.ts';
import type { Database } from '../database.ts';
import { encodeTime, encodeTimeOrNull, integer } from '../row.ts';
import type { Admissions } from '../workspaces/admission.ts';
import { workspaceFrom } from '../workspaces/row.ts';

export interface Claim {
  readonly key: string;
  readonly workspace: NewWorkspace;
  readonly limit: number;
}

/**
 * Race: the count and the claim are one admission, and admissions do not overlap (`admission.ts`). A member that is
 * being retired is locked by whoever does that, and skipped; the chosen one stays locked until the commit, so whoever
 * would retire it finds it no longer `warm`.
 */
export async function claimMember(
  db: Database,
  admissions: Admissions,
  server: number,
  { key, workspace, limit }: Claim,
  at: Date,
): Promise<Workspace | Refused | undefined> {
  const [row] = await admissions.inTurn(() =>
    db.query(
      `select running, (member).*
         from kb.claim_member($1, $2::bigint, $3::text[], $4, $5, $6::jsonb, $7::timestamptz)`,
      [
        ...[key, admissions.advisoryLock, runningStatuses, limit, server],
        ...[JSON.stringify(encode(workspace)), encodeTime(at)],
      ],
    ),
  );
  if (!row) return undefined;
  return row['id'] === null ? { running: integer(row, 'running') } : workspaceFrom(row);
}

/** What a request says of a workspace; the sandbox is as it was made. */
function encode(workspace: NewWorkspace): Readonly<Record<string, unknown>> {
  return {
    id: workspace.id,
    owner: workspace.owner,
    agent_session_id: workspace.agentSessionId,
    repository_url: workspace.repositoryUrl,
    branch: workspace.branch,
    deployment_mode: workspace.deploymentMode,
    lifecycle: workspace.lifecycle,
    desired_state: workspace.desiredState,
    metadata: workspace.metadata,
    sealed_env: workspace.sealedEnv,
    announced: workspace.announced,
    created_at: encodeTime(workspace.createdAt),
    last_used_at: encodeTime(workspace.lastUsedAt),
    ttl_seconds: workspace.ttlSeconds,
    expires_at: encodeTimeOrNull(workspace.expiresAt),
  };
}
