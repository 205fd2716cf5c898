import { findingKinds } from './findings.ts';
import type { Finding } from './findings.ts';
import type { FaultKind } from './faults.ts';
import type { OperationCounts, OperationKind } from './tally.ts';

/** The outcome of a run. It is clean when nothing was found. */
export interface ChaosReport {
  readonly seed: number;
  readonly database: string;
  readonly clients: number;
  readonly seconds: number;
  readonly clean: boolean;
  readonly operations: Readonly<Record<OperationKind, OperationCounts>>;
  /** Refusals by operation and error code. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<FaultKind, number>>;
  readonly server_starts: number;
  readonly findings: readonly Finding[];
  readonly workspaces: number;
  /** Files that were read back at the end. */
  readonly files_checked: number;
  /** Workspaces that faults had left in `error`, and that were recovered. */
  readonly recovered: number;
  /** Containers that the killed engine forgot while it was starting them, and of which processes are left. */
  readonly lost_by_engine: readonly string[];
  /** The engine kept the network for a container that it no longer had, until it was restarted. */
  readonly engine_miscounted: boolean;
  readonly longest_acknowledged_ms: number;
  readonly consistent_after_seconds: number;
  /** The server's log and database; kept when something was found. */
  readonly kept: string | null;
}

const titles = { loss: 'Losses', leak: 'Leaks', stuck: 'Stuck', crash: 'Crashes' } as const;

/** Goes on after what the engine forgot. */
export const miscounted = ', and kept the network for one that was gone until it was restarted';

/** For people. */
export function reportText(report: ChaosReport): string {
  const rows = Object.entries(report.operations).map(([kind, counts]) => [
    kind,
    String(counts.acknowledged),
    String(counts.refused),
    String(counts.unknown),
    `${(counts.longestMs / 1000).toFixed(1)} s`,
  ]);
  const header = ['operation', 'acknowledged', 'refused', 'no answer', 'longest'];
  const faults = Object.entries(report.faults).map(([kind, count]) => `${String(count)} ${kind}`);
  const refusals = Object.entries(report.refusals).toSorted(([, a], [, b]) => b - a);
  return [
    `${String(Math.round(report.seconds))} s, ${String(report.clients)} clients, ${report.database}, seed ${String(report.seed)}`,
    '',
    ...table([header, ...rows]),
    '',
    `Refused     ${refusals.map(([reason, count]) => `${reason} ${String(count)}`).join(', ') || 'none'}`,
    `Faults      ${faults.join(', ')}; ${String(report.server_starts)} server starts`,
    `Workspaces  ${String(report.workspaces)}, ${String(report.files_checked)} files read back at the end, ${String(report.recovered)} recovered from error`,
    `Engine      forgot ${String(report.lost_by_engine.length)} containers when it was killed while it started them${report.engine_miscounted ? miscounted : ''}`,
    `Slowest     ${(report.longest_acknowledged_ms / 1000).toFixed(1)} s until an acknowledgement`,
    `Consistent  ${report.consistent_after_seconds.toFixed(1)} s after the last fault`,
    ...findingKinds.flatMap((kind) => findingLines(titles[kind], report, kind)),
    '',
    report.clean
      ? 'Nothing was lost, leaked or stuck.'
      : `NOT CLEAN: see above; the server's log and data are in ${report.kept ?? 'no place'}.`,
  ].join('\n');
}

function findingLines(title: string, report: ChaosReport, kind: Finding['kind']): string[] {
  const found = report.findings.filter((finding) => finding.kind === kind);
  return [
    `${title.padEnd(11)} ${String(found.length)}`,
    ...found.map(({ at, subject, detail }) => `  ${at} ${subject}: ${detail}`),
  ];
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  '),
  );
}
