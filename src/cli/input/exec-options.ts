import type { Command } from 'commander';
import type { BashRequest } from '../http/api-types.ts';
import { longestTimeoutMs } from '../remote/exec.ts';
import { shellCommand } from '../remote/quote.ts';
import { parseDurationMs } from './duration.ts';
import type { Pairs } from './pairs.ts';

/** How `exec` and `run` run a command. */
export interface ExecOptions {
  readonly workdir?: string;
  readonly timeout?: number;
  readonly env?: Pairs;
}

export function execOptions(command: Command): Command {
  return command
    .option('--workdir <path>', 'where the command starts (default: /workspace)')
    .option(
      '--timeout <duration>',
      'end the command after this long (exit code 124)',
      parseDurationMs,
    );
}

export function bashRequest(argv: readonly string[], options: ExecOptions): BashRequest {
  return {
    command: shellCommand(argv),
    timeout_ms: options.timeout ?? longestTimeoutMs,
    ...(options.workdir !== undefined && { workdir: options.workdir }),
    ...(options.env && { env: options.env }),
  };
}
