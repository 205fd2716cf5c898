import type { Finding } from '../chaos/findings.ts';
import type { Closed } from './closing.ts';
import type { LoadFindingKind } from './findings.ts';
import type { Journal } from './journal.ts';
import { duringOutage } from './judge.ts';
import type { Kill, KillKind } from './kills.ts';
import type { OutageSeen } from './outage.ts';
import type { PoolAnswer } from '../chaos/pool.ts';
import { timesOf } from './report.ts';
import type { LoadReport, OutageReport } from './report.ts';
import type { LoadOptions } from './run.ts';

export interface Observed {
  readonly options: LoadOptions;
  readonly database: string;
  readonly seconds: number;
  /** When the clients had stopped. */
  readonly pool: PoolAnswer;
  readonly closed: Closed;
  readonly journal: Journal;
  readonly kills: readonly Kill[];
  readonly excused: number;
  readonly outage: OutageSeen | undefined;
  readonly strays: readonly string[];
  readonly findings: readonly Finding<LoadFindingKind>[];
  readonly directory: string;
}

const goals = { unhealthySeconds: 35, refusedMs: 10_000, backSeconds: 60 };

export function summarize(observed: Observed): LoadReport {
  const { options, journal, kills, closed, findings } = observed;
  const served = journal.creates.filter(({ id }) => id !== undefined);
  const ofKind = (kind: KillKind): number => kills.filter((kill) => kill.kind === kind).length;
  const outage = observed.outage ? outageReport(journal, observed.outage) : null;
  const backAfter = inSeconds(closed.backMs);
  const clean = findings.length === 0;
  return {
    seed: options.seed,
    database: observed.database,
    clients: options.clients,
    pool: options.pool,
    seconds: observed.seconds,
    clean,
    warm: timesOf(served.filter(({ warm }) => warm)),
    cold: timesOf(served.filter(({ warm }) => !warm)),
    hits: Object.values(observed.pool.hits).reduce((sum, count) => sum + count, 0),
    misses: observed.pool.misses,
    kills: {
      engine: ofKind('engine'),
      process: ofKind('process'),
      while_warm: kills.filter(({ after }) => after === 'warm').length,
      failed: [...new Set(kills.flatMap(({ failure }) => failure ?? []))],
    },
    excused: observed.excused,
    back_after_seconds: backAfter,
    drained_after_seconds: inSeconds(closed.drainedMs),
    outage,
    lost_by_engine: observed.strays,
    engine_miscounted: closed.miscounted,
    findings,
    missed_goals: missedGoals(backAfter, outage),
    kept: clean ? null : observed.directory,
  };
}

function outageReport(journal: Journal, outage: OutageSeen): OutageReport {
  return {
    seconds: (outage.startBeganAt - outage.stoppedAt) / 1000,
    unhealthy_after_seconds: outage.unhealthyAfterMs / 1000,
    refused: timesOf(duringOutage(journal, outage)),
    recovered_after_seconds: outage.recoveredAfterMs / 1000,
  };
}

function missedGoals(backAfter: number | null, outage: OutageReport | null): readonly string[] {
  const { unhealthySeconds, refusedMs, backSeconds } = goals;
  return [
    ...(backAfter !== null && backAfter <= backSeconds
      ? []
      : [`the pool is full again within ${String(backSeconds)} s`]),
    ...(outage && outage.unhealthy_after_seconds > unhealthySeconds
      ? [`the provider is unhealthy within ${String(unhealthySeconds)} s of the stop`]
      : []),
    ...(outage && (outage.refused.longest ?? 0) >= refusedMs
      ? [`every create is refused within ${String(refusedMs / 1000)} s`]
      : []),
  ];
}

function inSeconds(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1000;
}
