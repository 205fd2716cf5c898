import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openGrounds } from '../chaos/grounds.ts';
import type { Grounds } from '../chaos/grounds.ts';
import { reportText } from './report.ts';
import { runLoad } from './run.ts';

const timeoutMs = 900_000;

// A short run of `npm run load -- --engine-outage`, on the same code.
describe('a Docker engine that is stopped under load', () => {
  const opened = new AsyncDisposableStack();
  let grounds: Grounds;

  beforeAll(async () => {
    grounds = opened.use(await openGrounds('pglite'));
  });

  afterAll(async () => {
    await opened.disposeAsync();
  });

  test(
    'has every create refused with the reasons until it is back; then all recovers by itself',
    async () => {
      const report = await runLoad(
        {
          ...{ seconds: 4, untilCompleteSeconds: 120, clients: 4, pool: 2, seed: 1 },
          ...{ outageMs: 1_000, convergeMs: 180_000 },
        },
        grounds,
      );
      expect(report.findings, reportText(report)).toEqual([]);
      expect(report.outage?.refused.count, reportText(report)).toBeGreaterThan(0);
      expect(report.back_after_seconds, reportText(report)).not.toBeNull();
    },
    timeoutMs,
  );
});
