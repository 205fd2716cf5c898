import type { Command } from 'commander';
import { exitCodeOfSignal } from '../exit-codes.ts';
import { Failure, UsageFailure } from '../failure.ts';
import { ApiClient } from '../http/client.ts';
import { parseTransfer } from '../input/cp-sides.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { download } from '../remote/download.ts';
import { upload } from '../remote/upload.ts';
import { printJson } from '../terminal/output.ts';
import { onSignals } from '../terminal/signals.ts';

export function define(command: Command): void {
  commonOptions(command)
    .description('Copy one file into a workspace or out of it.')
    .argument('<source>', 'a local file, - for standard input, or <id>:<path>')
    .argument('<target>', '<id>:<path>, a local file or directory, or - for standard output')
    .addHelpText(
      'after',
      `
A relative path in a workspace starts at /workspace; a target that ends with / keeps the file's name. The target
is replaced whole or not at all. For a directory, use tar:
  tar -C src -cf - . | emergent cp - 1f0c:/tmp/src.tar
  emergent exec 1f0c -- tar -C /workspace -xf /tmp/src.tar

Examples:
  emergent cp data.csv 1f0c:
  emergent cp data.csv 1f0c:/workspace/input/
  emergent cp 1f0c:result.json .
  emergent cp 1f0c:/var/log/app.log - | less`,
    )
    .action(async (source: string, target: string) => {
      await cp(source, target, command.optsWithGlobals());
    });
}

async function cp(source: string, target: string, options: CommonOptions): Promise<void> {
  const transfer = parseTransfer(source, target);
  if (options.json === true && transfer.to.path === '-') {
    throw new UsageFailure('--json and the file would both go to standard output');
  }
  const client = ApiClient.connect(options);
  const interrupted = new AbortController();
  using _signals = onSignals((signal) => {
    const exitCode = exitCodeOfSignal(signal);
    interrupted.abort(new Failure('interrupted', `ended by ${signal}`, { exitCode }));
  });
  const file =
    transfer.direction === 'in'
      ? await upload(client, transfer.from, transfer.to, interrupted.signal)
      : await download(client, transfer.from, transfer.to, interrupted.signal);
  if (options.json === true) await printJson(file);
}
