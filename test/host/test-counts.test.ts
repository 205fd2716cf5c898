import { expect, test } from 'vitest';

import { closingLine, GoEvents, sum } from '../../scripts/counts.ts';

const event = (fields: Record<string, string>): string => `${JSON.stringify(fields)}\n`;

test('adds up Go tests and tells what failed', () => {
  let printed = '';
  const events = new GoEvents((text) => (printed += text));
  const stream = [
    event({ Action: 'output', Package: 'p', Test: 'TestA', Output: 'quiet\n' }),
    event({ Action: 'pass', Package: 'p', Test: 'TestA' }),
    event({ Action: 'output', Package: 'p', Test: 'TestB', Output: 'boom\n' }),
    event({ Action: 'fail', Package: 'p', Test: 'TestB' }),
    event({ Action: 'skip', Package: 'p', Test: 'TestC' }),
    event({ Action: 'fail', Package: 'p' }),
  ].join('');
  events.write(stream.slice(0, 50));
  events.write(stream.slice(50));
  expect(events.counts(1)).toEqual({ passed: 1, failed: 1, skipped: 1 });
  expect(printed).toContain('boom');
  expect(printed).not.toContain('quiet');
});

test('a package that does not build is a failure', () => {
  const events = new GoEvents(() => undefined);
  events.write(event({ Action: 'build-output', ImportPath: 'p', Output: 'undefined: x\n' }));
  events.write(event({ Action: 'fail', Package: 'p', FailedBuild: 'p' }));
  expect(events.counts(1)).toEqual({ passed: 0, failed: 1, skipped: 0 });
});

test('a run that ended badly without a word is a failure', () => {
  expect(new GoEvents(() => undefined).counts(2).failed).toBe(1);
});

test('closes with one line', () => {
  const total = sum([
    { passed: 2, failed: 0, skipped: 1 },
    { passed: 3, failed: 1, skipped: 0 },
  ]);
  expect(closingLine(total)).toBe('5 passed, 1 failed, 1 skipped');
});
