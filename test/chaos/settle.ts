import type { Clock } from '../../src/base/clock.ts';
import { isChanging } from '../../src/domain/workspace.ts';
import { describe, json } from './api-client.ts';
import type { ApiClient, Row } from './api-client.ts';
import type { Complaints } from './findings.ts';

/** The server looks after rows at its start and every minute; this is twice that. */
const settleMs = 120_000;
const lookEveryMs = 250;
const mendMs = 120_000;

export interface SettleOptions {
  readonly api: ApiClient;
  readonly findings: Complaints<'stuck'>;
  readonly clock: Clock;
}

/** Waits until no row is on its way any more; those that do not arrive are stuck. */
export async function settle({ api, findings, clock }: SettleOptions): Promise<void> {
  const end = clock.monotonic() + settleMs;
  for (;;) {
    const rows = await api.rows();
    const changing = rows.filter(({ status }) => isChanging(status));
    if (changing.length === 0) return;
    if (clock.monotonic() > end) {
      for (const row of changing) findings.add('stuck', row.id, stuckFor(row));
      return;
    }
    await clock.sleep(lookEveryMs);
  }
}

function stuckFor({ status, status_reason: reason }: Row): string {
  return `${status} for ${String(settleMs / 1000)} s (${reason ?? 'no reason given'})`;
}

interface GcReport {
  readonly actions: readonly {
    readonly workspace_id: string;
    readonly kind: string;
    readonly result: string | null;
    readonly reason: string | null;
  }[];
  readonly blocked: readonly { readonly provider: string; readonly reason: string }[];
}

/** Asks the server to mend what it finds, until it finds nothing more to do. */
export async function mend({ api, findings, clock }: SettleOptions): Promise<void> {
  const end = clock.monotonic() + mendMs;
  for (;;) {
    const reply = await api.send('POST', '/api/v1/gc', { min_age_seconds: 0 });
    if (reply.outcome !== 'acknowledged') {
      findings.add('stuck', 'gc', describe(reply));
      return;
    }
    const { actions, blocked } = json(reply) as GcReport;
    if (actions.length === 0 && blocked.length === 0) return;
    if (clock.monotonic() > end) {
      for (const action of actions) {
        const detail = `${action.kind}: ${action.result ?? 'left alone'} (${action.reason ?? ''})`;
        findings.add('stuck', action.workspace_id, detail);
      }
      for (const { provider, reason } of blocked) findings.add('stuck', provider, reason);
      return;
    }
    await clock.sleep(lookEveryMs);
  }
}
