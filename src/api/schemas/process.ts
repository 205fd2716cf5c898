import { z } from 'zod';
import { processSignals } from '../../domain/exec.ts';
import type { ProcessInfo } from '../../domain/exec.ts';
import type { DetachedRequest } from '../../engine/engine.ts';
import { command } from './bash.ts';
import { env } from './env.ts';
import { filePath, flag, id, position, timestamp } from './text.ts';

export const startProcessBody = z
  .strictObject({ command, workdir: filePath.optional(), env: env.optional() })
  .meta({ id: 'StartProcess' });

export const processParams = z.strictObject({ id, process_id: id });

export const signalBody = z.strictObject({ signal: z.enum(processSignals) }).meta({ id: 'Signal' });

export const outputQuery = z.strictObject({
  offset: position.default(0).describe('How many bytes of output the caller has already.'),
  follow: flag
    .optional()
    .describe('Go on until the process ends. By default only server-sent events do.'),
});

const exit = {
  exit_code: z.int().nullable().describe('Null while it runs; 128 + the signal number if killed.'),
  signal: z.string().nullable().describe('What killed it; null when it exited by itself.'),
};

export const process = z
  .object({
    id,
    pid: z.int().describe('Inside the workspace; for people.'),
    command: z.string(),
    detached: z.boolean().describe('Started to outlive its caller; others are those of bash.'),
    status: z.enum(['running', 'exited']),
    started_at: timestamp,
    ended_at: timestamp.nullable(),
    ...exit,
    output_bytes: z.int().describe('What it has written so far, stdout and stderr together.'),
    dropped_bytes: z.int().describe('How much from the beginning of that is no longer kept.'),
  })
  .meta({ id: 'Process' });

export const processList = z
  .object({ items: z.array(process).describe('Oldest first.') })
  .meta({ id: 'ProcessList' });

export const outputStream = z
  .string()
  .describe(
    'Server-sent events with JSON data: `stdout` and `stderr` {text, offset}, or {base64, offset} where the ' +
      'output is not UTF-8; `skipped` {bytes, offset} for output that is no longer kept; last, if the process ' +
      'has ended, `exit` {exit_code, signal}; or `error` (an Error). The id of each is its offset: how many ' +
      'bytes of output lie before the end of the event.',
  );

export function toDetachedRequest(body: z.output<typeof startProcessBody>): DetachedRequest {
  return {
    command: body.command,
    ...(body.workdir !== undefined && { workdir: body.workdir }),
    ...(body.env && { env: body.env }),
  };
}

export function presentProcess(from: ProcessInfo): z.output<typeof process> {
  return {
    id: from.id,
    pid: from.pid,
    command: commandOf(from.argv),
    detached: from.detached,
    status: from.exit === null ? 'running' : 'exited',
    started_at: from.startedAt.toISOString(),
    ended_at: from.endedAt?.toISOString() ?? null,
    exit_code: from.exit?.exitCode ?? null,
    signal: from.exit?.signal ?? null,
    output_bytes: from.outputBytes,
    dropped_bytes: from.droppedBytes,
  };
}

/** What the caller wrote: a script that a shell runs stands for itself. */
function commandOf(argv: readonly string[]): string {
  const [program, option, script, ...more] = argv;
  const isShell = program === '/bin/bash' || program === '/bin/sh';
  const isScript = isShell && option === '-c' && more.length === 0;
  return isScript && script !== undefined ? script : argv.join(' ');
}
