import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase, openGrounds } from './grounds.ts';
import type { Grounds } from './grounds.ts';
import { reportText } from './report.ts';
import type { ChaosReport } from './report.ts';
import { runChaos } from './run.ts';
import { operationKinds } from './tally.ts';

/** What a run may take on a slow host: starting, the faults, the closing check. */
const timeoutMs = 900_000;
const length = { seconds: 10, untilCompleteSeconds: 400, clients: 6 };

// A short run of `npm run chaos`, on the same code. The seeds repeat choices, not the timing: every run differs.
describe('the kill test', () => {
  const opened = new AsyncDisposableStack();
  let grounds: Grounds;

  beforeAll(async () => {
    grounds = opened.use(await openGrounds('pglite'));
  });

  afterAll(async () => {
    await opened.disposeAsync();
  });

  const expectClean = (report: ChaosReport): void => {
    expect(report.findings, reportText(report)).toEqual([]);
    expect(report.clean).toBe(true);
    for (const kind of operationKinds.filter((name) => name !== 'recover')) {
      expect(
        report.operations[kind].acknowledged,
        `${kind}\n${reportText(report)}`,
      ).toBeGreaterThan(0);
    }
  };

  test(
    'loses and leaks nothing when the server and the Docker engine are killed',
    async () => {
      const report = await runChaos({ ...length, seed: 1, faults: ['server', 'engine'] }, grounds);
      expectClean(report);
      expect(report.faults.server).toBeGreaterThan(2);
      expect(report.faults.engine).toBeGreaterThan(0);
    },
    timeoutMs,
  );

  test(
    'loses and leaks nothing when the server is killed and PostgreSQL ends as by a crash',
    async () => {
      await using database = await openDatabase();
      const report = await runChaos(
        { ...length, seed: 2, faults: ['server', 'database'] },
        { engine: grounds.engine, database },
      );
      expectClean(report);
      expect(report.faults.server).toBeGreaterThan(2);
      expect(report.faults.database).toBeGreaterThan(0);
    },
    timeoutMs,
  );
});
