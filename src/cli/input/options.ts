import type { Command } from 'commander';

/** Options that every command of the API takes, before or after the command's name. */
export interface CommonOptions {
  readonly json?: boolean;
  readonly url?: string;
}

export function commonOptions(command: Command): Command {
  return command
    .option('--json', 'print JSON only')
    .option('--url <url>', 'the server (default: $EMERGENT_URL or http://127.0.0.1:7700)');
}
