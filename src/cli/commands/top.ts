import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { exitCodeOfSignal } from '../exit-codes.ts';
import { ApiClient } from '../http/client.ts';
import { parseDurationMs } from '../input/duration.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { keepShowing } from '../remote/top.ts';
import type { TopView } from '../remote/top.ts';
import { FullScreen } from '../terminal/full-screen.ts';
import { note, printJson, printLine } from '../terminal/output.ts';
import { onResize } from '../terminal/screen.ts';
import { onSignals } from '../terminal/signals.ts';
import { statsLines, topLines } from '../terminal/top-lines.ts';

interface TopCommandOptions extends CommonOptions {
  readonly interval: number;
  readonly once?: boolean;
}

export function define(command: Command): void {
  commonOptions(command)
    .description('Show what workspaces use: CPU, memory, disk and processes.')
    .option('--interval <duration>', 'how often to look', parseDurationMs, 2_000)
    .option('--once', 'look once, print and end')
    .addHelpText(
      'after',
      `
Busiest first, until q or Ctrl-C. Looking is not a use: it neither moves an expiry nor wakes a workspace that is
frozen because nothing runs in it. With --json, or where the output is not a terminal, it looks once. While the
server restarts, the last figures stay.

CPU is in percent of one core. MEMORY and DISK are what is used, and the limit.

Examples:
  emergent top
  emergent top --once | head -3
  emergent top --json | jq -r '.items[] | select(.cpu_percent > 50) | .workspace_id'`,
    )
    .action(async () => {
      await top(command.optsWithGlobals());
    });
}

async function top(options: TopCommandOptions): Promise<void> {
  const client = ApiClient.connect(options);
  if (options.json !== true && options.once !== true && process.stdout.isTTY) {
    await watch(client, options.interval);
    return;
  }
  const report = await client.stats();
  if (options.json === true) {
    await printJson(report);
    return;
  }
  await printLine(statsLines(report.items, systemClock.now()).join('\n'));
  if (report.left_out > 0) note(`There are ${String(report.left_out)} more: they were left out.`);
}

async function watch(client: ApiClient, everyMs: number): Promise<void> {
  const left = new AbortController();
  using _signals = onSignals((signal) => {
    process.exitCode = exitCodeOfSignal(signal);
    left.abort();
  });
  // Before the screen is taken: a server that is not there is told on the usual one.
  const first = await client.stats(left.signal);
  let view: TopView = { report: first, trouble: undefined };
  await using screen = await FullScreen.open();
  using _keys = onKeys((key) => {
    if (key === ctrlC) process.exitCode = exitCodeOfSignal('SIGINT');
    if (key === ctrlC || key === 'q' || key === 'Q') left.abort();
  });
  const show = async (now: TopView): Promise<void> => {
    view = now;
    await screen.paint(topLines(now, systemClock.now()));
  };
  using _resize = onResize(() => {
    screen.paint(topLines(view, systemClock.now())).catch(() => {
      left.abort();
    });
  });
  try {
    const read = (signal: AbortSignal) => client.stats(signal);
    await keepShowing(first, { read, show, everyMs, clock: systemClock, signal: left.signal });
  } catch (error) {
    // Leaving is how it ends.
    if (!left.signal.aborted) throw error;
  }
}

const ctrlC = '\x03';

function onKeys(listener: (key: string) => void): Disposable {
  const { stdin } = process;
  const onData = (data: Buffer): void => {
    for (const key of data.toString('latin1')) listener(key);
  };
  stdin.on('data', onData);
  return {
    [Symbol.dispose]() {
      stdin.off('data', onData);
      // Otherwise the process would wait for more.
      stdin.pause();
    },
  };
}
