import type { Log } from '../../base/log.ts';
import { reasonOf } from '../../base/reason.ts';
import type { ReconcileAction, ReconcileOutcome } from '../../domain/reconcile.ts';
import type { WorkspaceStore } from '../../domain/store.ts';
import type { Upkeep } from '../upkeep.ts';
import type { TakenRows } from './taken-rows.ts';

export interface Means {
  readonly store: Pick<WorkspaceStore, 'get'>;
  readonly upkeep: Upkeep;
  readonly log: Log;
  readonly taken: TakenRows;
  /** Aborted: what has not begun is not begun any more. */
  readonly signal: AbortSignal;
}

/** Does one thing of the plan, unless the world has moved on since it was made. Never throws. */
export async function perform(action: ReconcileAction, means: Means): Promise<ReconcileOutcome> {
  if (action.kind === 'keep_unknown') return outcomeOf(action, null);
  const { workspaceId: id, provider, kind, why } = action;
  const fields = { workspace: id, provider, action: kind, why };
  try {
    const objection = await objectionTo(action, means);
    if (objection !== undefined) return outcomeOf(action, 'skipped', objection);
    means.taken.handOn(id);
    await carryOut(action, means.upkeep);
    means.log.info('reconciled a workspace', fields);
    return outcomeOf(action, 'done');
  } catch (error) {
    means.log.warn('a workspace could not be reconciled', { ...fields, err: error });
    return outcomeOf(action, 'failed', reasonOf(error));
  }
}

/**
 * A plan is old by the time its last action comes up. The row is read again: one of another version has been
 * changed by somebody, whose it is now; a sandbox that has a row after all is never removed.
 */
async function objectionTo(
  action: Exclude<ReconcileAction, { kind: 'keep_unknown' }>,
  { store, upkeep, taken, signal }: Means,
): Promise<string | undefined> {
  const { workspaceId: id } = action;
  if (signal.aborted) return 'the server is stopping';
  const row = await store.get(id);
  if (action.kind === 'remove' && row) return 'a workspace owns it';
  if (action.kind !== 'remove' && row?.version !== action.workspace.version) {
    taken.handOn(id);
    return 'its status has changed meanwhile';
  }
  if (!upkeep.changing().has(id)) return undefined;
  taken.handOn(id);
  return 'this server is changing it';
}

async function carryOut(
  action: Exclude<ReconcileAction, { kind: 'keep_unknown' }>,
  upkeep: Upkeep,
): Promise<void> {
  const { why } = action;
  switch (action.kind) {
    case 'finish_create':
      return upkeep.finishCreate(action.workspace);
    case 'finish_stop':
      return upkeep.finishStop(action.workspace);
    case 'finish_resume':
      return upkeep.finishResume(action.workspace);
    case 'finish_destroy':
      return upkeep.finishDestroy(action.workspace, why);
    case 'restart':
      return upkeep.restart(action.workspace, why);
    case 'stop':
      return upkeep.stopAgain(action.workspace, why);
    case 'mark_lost':
      return upkeep.markLost(action.workspace, why);
    case 'remove':
      return upkeep.removeUnowned(action.provider, action.found);
  }
}

/** What has come of it; in a dry run nothing. */
export function outcomeOf(
  { workspaceId, provider, kind, why }: ReconcileAction,
  result: ReconcileOutcome['result'],
  reason?: string,
): ReconcileOutcome {
  const outcome = { workspaceId, provider, kind, why, result };
  return reason === undefined ? outcome : { ...outcome, reason };
}
