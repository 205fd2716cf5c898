import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

import { prepareHost } from '../src/host/setup/prepare.ts';
import type { PreparedHost } from '../src/host/setup/prepare.ts';
import { interruption, packageScript, root, runChild } from './children.ts';
import { closingLine, GoEvents, sum, vitestCounts } from './counts.ts';
import type { Counts } from './counts.ts';

/**
 * npm test: prepares the host, runs everything, and closes with one line of totals. With arguments, only the
 * vitest files they name.
 */
const selected = process.argv.slice(2);
const signal = interruption();
const host = await prepareHost({ forTests: true, signal });
const parts = [await vitest(selected, signal)];
if (selected.length === 0) parts.push(await guestTests(host, signal));
const total = sum(parts);
process.stdout.write(`\n${closingLine(total)}\n`);
process.exitCode = total.failed > 0 || signal.aborted ? 1 : 0;

async function vitest(files: readonly string[], stopped: AbortSignal): Promise<Counts> {
  const report = `${root}.cache/vitest.json`;
  await mkdir(dirname(report), { recursive: true });
  await rm(report, { force: true });
  const reporters = ['default', './test/support/reporter.ts', 'json'];
  const argv = packageScript(
    'vitest/vitest.mjs',
    'run',
    ...reporters.map((name) => `--reporter=${name}`),
    `--outputFile.json=${report}`,
    ...files,
  );
  // The host is prepared; what the tests start must not begin to install things.
  const exitCode = await runChild(argv, { env: { EMERGENT_SKIP_SETUP: '1' }, signal: stopped });
  return vitestCounts(report, exitCode);
}

async function guestTests({ go }: PreparedHost, stopped: AbortSignal): Promise<Counts> {
  const print = (text: string): void => {
    process.stdout.write(text);
  };
  print('\nguest agent (go test -race):\n');
  if (go === null) {
    print('no Go toolchain could be had; its tests did not run\n');
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const events = new GoEvents(print);
  const exitCode = await runChild([go, 'test', '-race', '-json', './...'], {
    cwd: `${root}guest`,
    env: { CGO_ENABLED: '1', GOTOOLCHAIN: 'local' },
    onOutput: events.write,
    signal: stopped,
  });
  return events.counts(exitCode);
}
