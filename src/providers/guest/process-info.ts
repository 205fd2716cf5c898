import type { ProcessInfo } from '../../domain/exec.ts';
import type { ProcessInfo as Reported } from './gen/process/process_pb.ts';
import { exitOf } from './process-exit.ts';

/** What a sandbox says is untrusted: however much it says, this much is taken. */
const maxProcesses = 1024;
const maxIdLength = 128;
const maxArgvLength = 4096;
/** The last moment that a Date can hold. */
const lastMoment = 8_640_000_000_000_000n;

/** Those with an id, oldest first. */
export function processList(reported: readonly Reported[]): ProcessInfo[] {
  const byId = new Map<string, ProcessInfo>();
  for (const one of reported.slice(-maxProcesses)) {
    const info = processInfo(one);
    if (info) byId.set(info.id, info);
  }
  return [...byId.values()].sort((a, b) => a.startedAt.getTime() - b.startedAt.getTime());
}

function processInfo(reported: Reported): ProcessInfo | undefined {
  const { tag, pid, config, detached, end } = reported;
  if (tag === undefined || tag === '' || tag.length > maxIdLength) return undefined;
  const outputBytes = count(reported.outputBytes);
  return {
    id: tag,
    pid,
    argv: shortened([config?.cmd ?? '', ...(config?.args ?? [])]),
    detached,
    startedAt: moment(reported.startedAtMs),
    endedAt: end ? moment(reported.endedAtMs) : null,
    exit: end ? exitOf(end) : null,
    outputBytes,
    droppedBytes: Math.min(count(reported.droppedBytes), outputBytes),
  };
}

export function moment(ms: bigint): Date {
  return new Date(Number(ms < lastMoment ? ms : lastMoment));
}

function count(value: bigint): number {
  return Math.min(Number(value), Number.MAX_SAFE_INTEGER);
}

/** As many arguments as fit; the agent has cut them already if it is ours. */
function shortened(argv: readonly string[]): string[] {
  const kept: string[] = [];
  let left = maxArgvLength;
  for (const text of argv) {
    if (left <= 0) break;
    kept.push(text.slice(0, left));
    left -= text.length + 1;
  }
  return kept;
}
