import { createLog } from '../../src/base/log.ts';
import type { Log, LogLevel } from '../../src/base/log.ts';

export type LogEntry = Readonly<Record<string, unknown>> & {
  readonly level: string;
  readonly msg: string;
};

/** A real log whose lines are kept for the test to read. */
export interface RecordedLog {
  readonly log: Log;
  /** The lines as they would be written. */
  readonly lines: readonly string[];
  readonly entries: () => readonly LogEntry[];
}

export function recordLog(level: LogLevel = 'debug'): RecordedLog {
  const lines: string[] = [];
  const log = createLog({ level, sink: { write: (line) => lines.push(line) } });
  return { log, lines, entries: () => lines.map((line) => JSON.parse(line) as LogEntry) };
}
