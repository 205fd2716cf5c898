import type { FoundSandbox } from './provider.ts';
import type { ReconcileAction } from './reconcile.ts';
import { isChanging } from './workspace.ts';
import type { ChangingStatus, Workspace } from './workspace.ts';

/** What a provider answered when it was asked for its sandboxes. */
export type Listing =
  | { readonly state: 'listed'; readonly found: readonly FoundSandbox[] }
  /** It cannot list: its sandboxes are not compared with rows, but changes are finished. */
  | { readonly state: 'cannot_list' }
  /** It should have answered and did not: nothing of it is touched. */
  | { readonly state: 'failed'; readonly reason: string };

/** Rows and reality, side by side. */
export interface Survey {
  readonly rows: readonly Workspace[];
  /** Rows in a changing status that no live server worked on, as they were when that was asked. */
  readonly abandoned: readonly Workspace[];
  /** Rows whose status stood still while the sandboxes were listed: only they and theirs can be compared. */
  readonly settled: ReadonlySet<string>;
  /** Of every provider that this server runs, by name. */
  readonly listings: ReadonlyMap<string, Listing>;
  /** Which of the found sandboxes without a row the event log knows. */
  readonly known: ReadonlySet<string>;
  /** What this process is changing itself. */
  readonly changing: ReadonlySet<string>;
  readonly now: Date;
}

export interface PlanRules {
  /** Younger sandboxes without a row are left alone. */
  readonly minAgeMs: number;
  /** Also remove what this database has never heard of. */
  readonly includeUnknown: boolean;
}

/** What to do about the differences: at most one action for each workspace. */
export function planReconcile(survey: Survey, rules: PlanRules): readonly ReconcileAction[] {
  return [...forRows(survey), ...forUnowned(survey, rules)];
}

/** Found sandboxes whose workspace has no row, on whatever provider; each with its provider's name. */
export function unownedOf(
  rows: readonly Workspace[],
  listings: ReadonlyMap<string, Listing>,
): readonly (readonly [provider: string, found: FoundSandbox])[] {
  const owned = new Set(rows.map(({ id }) => id));
  return [...listings].flatMap(([provider, listing]) =>
    listing.state === 'listed'
      ? listing.found
          .filter(({ workspaceId }) => !owned.has(workspaceId))
          .map((found) => [provider, found] as const)
      : [],
  );
}

function forRows(survey: Survey): readonly ReconcileAction[] {
  const abandoned = new Map(survey.abandoned.map(({ id, version }) => [id, version]));
  return survey.rows.flatMap((row) => {
    const listing = survey.listings.get(row.provider);
    if (!listing || listing.state === 'failed' || survey.changing.has(row.id)) return [];
    if (isChanging(row.status)) {
      // Another version: somebody has taken it up since.
      return abandoned.get(row.id) === row.version ? [finish(row, row.status)] : [];
    }
    if (listing.state === 'cannot_list' || !survey.settled.has(row.id)) return [];
    return compare(
      row,
      listing.found.find(({ workspaceId }) => workspaceId === row.id),
    );
  });
}

function finish(row: Workspace, status: ChangingStatus): ReconcileAction {
  const nobody = 'no server works on it any more';
  switch (status) {
    case 'creating': {
      const goesOn = row.announced
        ? 'its caller knows it, so it is made again'
        : 'nobody waits for it, so it is undone';
      return onRow(row, 'finish_create', `its creation did not end and ${nobody}; ${goesOn}`);
    }
    case 'stopping':
      return onRow(row, 'finish_stop', `its stop did not end and ${nobody}`);
    case 'resuming':
      return onRow(row, 'finish_resume', `its resume did not end and ${nobody}`);
    case 'destroying':
      return onRow(row, 'finish_destroy', `its destruction did not end and ${nobody}`);
  }
}

/** A row at rest and its sandbox. Those in `error` wait for a person, warm ones belong to the pool. */
function compare(row: Workspace, found: FoundSandbox | undefined): readonly ReconcileAction[] {
  if (row.status !== 'ready' && row.status !== 'stopped') return [];
  if (found?.state === 'running') {
    return row.status === 'ready'
      ? []
      : [onRow(row, 'stop', 'it was stopped, but its sandbox runs')];
  }
  if (!found) return [onRow(row, 'mark_lost', 'nothing is left of its sandbox, nor of its files')];
  if (!found.hasFiles) {
    return [onRow(row, 'mark_lost', `its files are gone; all that is left: ${partsOf(found)}`)];
  }
  if (row.status === 'stopped') return [];
  const how = found.reason === undefined ? '' : ` (${found.reason})`;
  return [onRow(row, 'restart', `its sandbox does not run${how}; its files are there`)];
}

function forUnowned(survey: Survey, rules: PlanRules): readonly ReconcileAction[] {
  // By workspace: of one that is found on two providers, the other's turn is next time.
  const actions = new Map<string, ReconcileAction>();
  for (const [provider, found] of unownedOf(survey.rows, survey.listings)) {
    const { workspaceId, createdAt } = found;
    const ageMs = survey.now.getTime() - createdAt.getTime();
    if (ageMs < rules.minAgeMs || survey.changing.has(workspaceId)) continue;
    actions.set(workspaceId, { workspaceId, provider, found, ...verdict(survey, rules, found) });
  }
  return [...actions.values()];
}

function verdict(
  survey: Survey,
  rules: PlanRules,
  found: FoundSandbox,
): { readonly kind: 'remove' | 'keep_unknown'; readonly why: string } {
  const parts = partsOf(found);
  if (survey.known.has(found.workspaceId)) {
    return { kind: 'remove', why: `its workspace is gone, and this was left: ${parts}` };
  }
  const unknown = 'this database has never had its workspace';
  if (rules.includeUnknown) {
    return { kind: 'remove', why: `${unknown}, and unknown ones were asked to go: ${parts}` };
  }
  const maybe = 'it may have been set back to a backup';
  return { kind: 'keep_unknown', why: `${unknown} (${maybe}), so it is left alone: ${parts}` };
}

function onRow(
  workspace: Workspace,
  kind: Exclude<ReconcileAction['kind'], 'remove' | 'keep_unknown'>,
  why: string,
): ReconcileAction {
  return { workspaceId: workspace.id, provider: workspace.provider, kind, why, workspace };
}

function partsOf(found: FoundSandbox): string {
  return found.parts.join(', ');
}
