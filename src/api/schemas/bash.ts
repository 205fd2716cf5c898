import { z } from 'zod';
import { bashDefaults } from '../../domain/bash.ts';
import type { BashRequest, BashResult } from '../../domain/bash.ts';
import { env } from './env.ts';
import { filePath, text } from './text.ts';

/** One argument of a Linux process holds this much; the NUL behind it is the last byte of 128 KiB. */
const maxCommandBytes = 128 * 1024 - 1;

export const command = text(maxCommandBytes).describe('Run by bash -c.');

export const bashBody = z
  .strictObject({
    command,
    workdir: filePath.optional(),
    timeout_ms: z.int().min(1).max(bashDefaults.maxTimeoutMs).default(bashDefaults.timeoutMs),
    env: env.optional(),
  })
  .meta({ id: 'Bash' });

const outcome = {
  exit_code: z.int().describe('As a shell tells it: 128 + the signal number when killed.'),
  signal: z.string().nullable().describe('What killed it; null when it exited by itself.'),
  timed_out: z.boolean(),
  interrupted: z
    .boolean()
    .describe('The workspace was stopped or destroyed meanwhile, and that ended the command.'),
  background: z.boolean().describe('Processes that the command has started still run.'),
  truncated: z.boolean().describe('The middle of the output was left out.'),
  stdout_bytes: z.int().describe('What the command wrote, kept or not.'),
  stderr_bytes: z.int(),
  duration_ms: z.int(),
};

export const bashResult = z
  .object({ stdout: z.string(), stderr: z.string(), ...outcome })
  .meta({ id: 'BashResult' });

/** The last event of a stream: nothing was left out of what came before it. */
export const bashStreamResult = z.object(outcome);

export const bashStream = z
  .string()
  .describe(
    'Server-sent events with JSON data: `start` {pid, process_id}; `stdout` and `stderr` {text}, or {base64} where ' +
      'the output is not UTF-8; last `result` (a BashResult without the texts), or `error` (an Error).',
  );

export function toBashRequest(body: z.output<typeof bashBody>): BashRequest {
  return {
    command: body.command,
    timeoutMs: body.timeout_ms,
    ...(body.workdir !== undefined && { workdir: body.workdir }),
    ...(body.env && { env: body.env }),
  };
}

export function presentOutcome(result: BashResult): z.output<typeof bashStreamResult> {
  return {
    exit_code: result.exitCode,
    signal: result.signal,
    timed_out: result.timedOut,
    interrupted: result.interrupted,
    background: result.background,
    truncated: result.truncated,
    stdout_bytes: result.stdoutBytes,
    stderr_bytes: result.stderrBytes,
    duration_ms: result.durationMs,
  };
}
