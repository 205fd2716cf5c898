import type { ExecRequest } from '../../src/domain/exec.ts';
import type { Conversation } from './sandbox.ts';

/** Says "ready", then, on SIGTERM, its last words, and ends by itself. */
export const saysGoodbye: ExecRequest['argv'] = [
  'sh',
  '-c',
  // Started before the trap is set: a child that is just being forked would swallow the signal.
  'sleep 1000 & trap "echo last words; exit 0" TERM; echo ready; wait',
];

/** What its reader hears after "ready". */
export async function goodbye(talk: Conversation): Promise<unknown> {
  const { stdout, exitCode, signal } = await talk.end();
  return { stdout: stdout.toString().trim(), exitCode, signal };
}

export const properGoodbye = { stdout: 'last words', exitCode: 0, signal: null };
