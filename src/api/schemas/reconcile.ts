import { z } from 'zod';
import type { ReconcileOptions, ReconcileReport } from '../../domain/reconcile.ts';
import { id } from './text.ts';

const tenYears = 10 * 365 * 24 * 60 * 60;

const actionKinds = [
  'finish_create',
  'finish_stop',
  'finish_resume',
  'finish_destroy',
  'restart',
  'stop',
  'mark_lost',
  'remove',
  'keep_unknown',
] as const;

export const reconcileBody = z
  .strictObject({
    dry_run: z.boolean().default(false).describe('Only say what would be done.'),
    min_age_seconds: z
      .int()
      .min(0)
      .max(tenYears)
      .optional()
      .describe("Younger ones without a record are left alone (default: the server's grace)."),
    include_unknown: z
      .boolean()
      .default(false)
      .describe('Also remove what this database has never heard of.'),
  })
  .meta({ id: 'Reconcile' });

export const reconcileReport = z
  .object({
    dry_run: z.boolean(),
    actions: z.array(
      z.object({
        workspace_id: id,
        provider: z.string(),
        kind: z.enum(actionKinds),
        why: z.string(),
        result: z
          .enum(['done', 'failed', 'skipped'])
          .nullable()
          .describe('Null: not done, in a dry run or because it is left alone on purpose.'),
        reason: z.string().nullable().describe('Why it failed or was skipped.'),
      }),
    ),
    leftovers: z
      .array(z.object({ provider: z.string(), name: z.string(), why: z.string() }))
      .describe('Shared things that nobody uses any more.'),
    blocked: z
      .array(z.object({ provider: z.string(), reason: z.string() }))
      .describe('What could not be looked at; nothing of it was touched.'),
  })
  .meta({ id: 'ReconcileReport' });

export function toReconcileOptions(body: z.output<typeof reconcileBody>): ReconcileOptions {
  return {
    dryRun: body.dry_run,
    includeUnknown: body.include_unknown,
    ...(body.min_age_seconds !== undefined && { minAgeMs: body.min_age_seconds * 1000 }),
  };
}

export function presentReport(from: ReconcileReport): z.output<typeof reconcileReport> {
  return {
    dry_run: from.dryRun,
    actions: from.actions.map((action) => ({
      workspace_id: action.workspaceId,
      provider: action.provider,
      kind: action.kind,
      why: action.why,
      result: action.result,
      reason: action.reason ?? null,
    })),
    leftovers: from.leftovers.map(({ provider, name, why }) => ({ provider, name, why })),
    blocked: from.blocked.map(({ provider, reason }) => ({ provider, reason })),
  };
}
