import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openGrounds } from '../chaos/grounds.ts';
import type { Grounds } from '../chaos/grounds.ts';
import { reportText } from './report.ts';
import { runLoad } from './run.ts';

/** What a run may take on a slow host: filling the pool, the load, the closing check. */
const timeoutMs = 900_000;

// A short run of `npm run load`, on the same code. The seed repeats choices, not the timing: every run differs.
describe('a warm pool under load', () => {
  const opened = new AsyncDisposableStack();
  let grounds: Grounds;

  beforeAll(async () => {
    grounds = opened.use(await openGrounds('pglite'));
  });

  afterAll(async () => {
    await opened.disposeAsync();
  });

  test(
    'hands out no sandbox twice and none that is dead while those that wait are killed, and leaves nothing',
    async () => {
      const report = await runLoad(
        {
          ...{ seconds: 12, untilCompleteSeconds: 300, clients: 6, pool: 3, seed: 1 },
          ...{ killEveryMs: 1_000, workMs: 4_000, convergeMs: 180_000 },
        },
        grounds,
      );
      expect(report.findings, reportText(report)).toEqual([]);
      expect(report.warm.count, reportText(report)).toBeGreaterThan(0);
      expect(report.kills.while_warm, reportText(report)).toBeGreaterThan(0);
    },
    timeoutMs,
  );
});
