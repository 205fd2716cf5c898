import type { Finding } from '../chaos/findings.ts';
import { miscounted } from '../chaos/report.ts';
import { loadFindingKinds } from './findings.ts';
import type { LoadFindingKind } from './findings.ts';
import type { Create } from './journal.ts';

/** In milliseconds. */
export interface Times {
  readonly count: number;
  readonly p50: number | null;
  readonly p99: number | null;
  readonly longest: number | null;
}

export interface OutageReport {
  readonly seconds: number;
  readonly unhealthy_after_seconds: number;
  /** Creates that were asked for and answered while the engine was away. */
  readonly refused: Times;
  readonly recovered_after_seconds: number;
}

/** The outcome of a run. It is clean when nothing was found, and good when it also met its goals. */
export interface LoadReport {
  readonly seed: number;
  readonly database: string;
  readonly clients: number;
  readonly pool: number;
  readonly seconds: number;
  readonly clean: boolean;
  readonly warm: Times;
  readonly cold: Times;
  readonly hits: number;
  readonly misses: Readonly<Record<string, number>>;
  readonly kills: {
    readonly engine: number;
    readonly process: number;
    /** Of both: those whose row was still waiting afterwards. */
    readonly while_warm: number;
    /** Why a kill itself failed, each once. */
    readonly failed: readonly string[];
  };
  /** Failed requests that a kill or the outage explains. */
  readonly excused: number;
  readonly back_after_seconds: number | null;
  readonly drained_after_seconds: number | null;
  readonly outage: OutageReport | null;
  /** Containers that the engine was starting when it was stopped, and forgot though they ran on. */
  readonly lost_by_engine: readonly string[];
  /** The engine kept the network for a container that it no longer had, until it was restarted. */
  readonly engine_miscounted: boolean;
  readonly findings: readonly Finding<LoadFindingKind>[];
  readonly missed_goals: readonly string[];
  /** The server's log and data; kept when something was found. */
  readonly kept: string | null;
}

export function timesOf(creates: readonly Create[]): Times {
  const sorted = creates.map(({ sentAt, answeredAt }) => answeredAt - sentAt).sort((a, b) => a - b);
  const at = (q: number): number | null =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? null;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), longest: sorted.at(-1) ?? null };
}

const titles: Readonly<Record<LoadFindingKind, string>> = {
  twice: 'Handed out twice',
  dead: 'Handed out dead',
  failed: 'Failed',
  leak: 'Leaked',
  stuck: 'Stuck',
  crash: 'Crashes',
};

/** For people. */
export function reportText(report: LoadReport): string {
  const { kills, misses, outage } = report;
  const reasons = Object.entries(misses).map(([reason, count]) => `${reason} ${String(count)}`);
  return [
    `${String(Math.round(report.seconds))} s, ${String(report.clients)} clients, a pool of ${String(report.pool)}, ${report.database}, seed ${String(report.seed)}`,
    '',
    line('Creates', `${String(report.warm.count + report.cold.count)} answered`),
    line('  warm', timesText(report.warm)),
    line('  cold', timesText(report.cold)),
    line('Pool', `${String(report.hits)} hits; misses: ${reasons.join(', ') || 'none'}`),
    line(
      'Kills',
      `${String(kills.engine)} by the engine, ${String(kills.process)} of the process; ${String(kills.while_warm)} of them still waited afterwards`,
    ),
    ...kills.failed.map((reason) => line('  failed', reason)),
    line('Excused', `${String(report.excused)} failures`),
    ...(outage ? outageLines(outage) : []),
    line('Pool full', secondsText(report.back_after_seconds, 'after the clients had stopped')),
    line('Pool gone', secondsText(report.drained_after_seconds, 'after it was given up')),
    line(
      'Engine',
      `forgot ${String(report.lost_by_engine.length)} containers that it was starting when it was stopped${report.engine_miscounted ? miscounted : ''}`,
    ),
    ...loadFindingKinds.flatMap((kind) => findingLines(report, kind)),
    '',
    report.clean
      ? 'Nothing was found.'
      : `NOT CLEAN: see above; kept: ${report.kept ?? 'nothing'}.`,
    ...report.missed_goals.map((goal) => `GOAL MISSED: ${goal}`),
  ].join('\n');
}

function outageLines(outage: OutageReport): string[] {
  return [
    line('Outage', `${outage.seconds.toFixed(0)} s`),
    line('  unhealthy', secondsText(outage.unhealthy_after_seconds, 'after the stop')),
    line('  refused', timesText(outage.refused)),
    line('  recovered', secondsText(outage.recovered_after_seconds, 'after the engine was back')),
  ];
}

function findingLines({ findings }: LoadReport, kind: LoadFindingKind): string[] {
  const found = findings.filter((finding) => finding.kind === kind);
  return [
    line(titles[kind], String(found.length)),
    ...found.map(({ at, subject, detail }) => `  ${at} ${subject}: ${detail}`),
  ];
}

function line(title: string, text: string): string {
  return `${title.padEnd(17)} ${text}`;
}

function timesText({ count, p50, p99, longest }: Times): string {
  const ms = (time: number | null): string => (time === null ? '-' : `${time.toFixed(0)} ms`);
  return `${String(count)}, p50 ${ms(p50)}, p99 ${ms(p99)}, longest ${ms(longest)}`;
}

function secondsText(seconds: number | null, when: string): string {
  return seconds === null ? 'never' : `${seconds.toFixed(1)} s ${when}`;
}
