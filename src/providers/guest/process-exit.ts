import type { ExecExit } from '../../domain/exec.ts';
import type { ProcessEvent_EndEvent } from './gen/process/process_pb.ts';

export function exitOf({ exitCode, exited, status }: ProcessEvent_EndEvent): ExecExit {
  return { exitCode, signal: exited ? null : signalName(status) };
}

/** What a sandbox says is untrusted: a name of the known form, or none. */
function signalName(status: string): string {
  return /^signal: (SIG[A-Z0-9+-]{1,12})$/.exec(status)?.[1] ?? 'unknown';
}
