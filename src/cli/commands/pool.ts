import { Argument, Option } from 'commander';
import type { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { exitCodeOfSignal } from '../exit-codes.ts';
import { UsageFailure } from '../failure.ts';
import type { WarmPoolReport } from '../http/api-types.ts';
import { ApiClient } from '../http/client.ts';
import { parseDurationMs } from '../input/duration.ts';
import type { CommonOptions } from '../input/options.ts';
import { commonOptions } from '../input/options.ts';
import { waitForPool } from '../remote/wait-for-pool.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { poolLines } from '../terminal/pool-lines.ts';
import { onSignals } from '../terminal/signals.ts';
import { StatusLine } from '../terminal/status-line.ts';

export function define(command: Command): void {
  commonOptions(command)
    .description('Show the sandboxes that wait for the next create.')
    .addHelpText(
      'after',
      `
A create that asks for what a pool has (provider, image, limits, network) gets a waiting sandbox in milliseconds;
another one takes its place. The pool "default" is for requests that leave everything to the server. Hits and
misses are those of this server since it started. Misses:
  empty     all that waited were taken
  no_pool   no pool is like the request
  provider  the pool that is like it is of another provider
  dead      what waited did not live any more

Examples:
  emergent pool
  emergent pool resize 5
  emergent pool --json | jq '.pools[] | {name, size, ready}'`,
    )
    .action(async () => {
      const options = command.optsWithGlobals<CommonOptions>();
      await print(await ApiClient.connect(options).warmPools(), options);
    });
  defineResize(command.command('resize'));
}

interface ResizeOptions extends CommonOptions {
  readonly wait?: boolean;
  readonly timeout: number;
}

const resizeArguments = [
  new Argument('[name]', 'the pool (default: "default")'),
  new Argument('<size>', 'how many sandboxes should wait; 0: none'),
];

function defineResize(command: Command): void {
  commonOptions(command)
    .description('Change how many sandboxes wait, on all servers of the database.')
    .usage('[options] [name] <size>')
    .configureHelp({ visibleArguments: () => resizeArguments })
    // The name comes first and may be missing, which only whoever sees both can tell.
    .argument('<name|size>')
    .argument('[size]')
    .option('--wait', 'until the pool has this size, or cannot get there')
    .addOption(
      new Option('--timeout <duration>', 'how long to wait at most')
        .argParser(parseDurationMs)
        .default(120_000, '120s'),
    )
    .addHelpText(
      'after',
      `
Needs the role admin. The size holds until the configured one (WORKSPACE_WARM_POOL_SIZE, WORKSPACE_WARM_POOLS)
is changed. With --wait the exit code is 1 if the pool is blocked or not there in time, with the reason.

Examples:
  emergent pool resize 5
  emergent pool resize python 3
  emergent pool resize 0 --wait`,
    )
    .action(async (first: string, second: string | undefined) => {
      const [name, size] = second === undefined ? [undefined, first] : [first, second];
      await resize(name, parseSize(size), command.optsWithGlobals());
    });
}

function parseSize(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageFailure(
    `"${text}" is not a number of sandboxes`,
    'Write it as in: emergent pool resize 5',
  );
}

async function resize(
  name: string | undefined,
  size: number,
  options: ResizeOptions,
): Promise<void> {
  const client = ApiClient.connect(options);
  const resized = await client.resizeWarmPool(name, size);
  const report =
    options.wait === true ? await converged(client, name ?? 'default', size, options) : resized;
  if (report) await print(report, options);
}

/** Undefined: a signal came first. */
async function converged(
  client: ApiClient,
  name: string,
  size: number,
  { timeout }: ResizeOptions,
): Promise<WarmPoolReport | undefined> {
  const left = new AbortController();
  using _signals = onSignals((signal) => {
    process.exitCode = exitCodeOfSignal(signal);
    left.abort();
  });
  using line = new StatusLine();
  try {
    return await waitForPool(name, size, {
      read: (signal) => client.warmPools(signal),
      tell: (text) => {
        line.show(text);
      },
      timeoutMs: timeout,
      clock: systemClock,
      signal: left.signal,
    });
  } catch (error) {
    if (!left.signal.aborted) throw error;
    return undefined;
  }
}

async function print(report: WarmPoolReport, { json }: CommonOptions): Promise<void> {
  await (json === true ? printJson(report) : printLine(poolLines(report).join('\n')));
}
