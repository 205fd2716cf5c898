import { expect, test } from 'vitest';
import { DetachKeys } from '../../src/cli/terminal/detach-keys.ts';

/** What is passed on of what is typed, piece by piece; "!" where it detaches. */
function typed(...pieces: readonly string[]): string {
  const keys = new DetachKeys();
  let passed = '';
  for (const piece of pieces) {
    const taken = keys.take(Buffer.from(piece));
    passed += taken.passed.toString();
    if (taken.detach) return `${passed}!`;
  }
  return passed;
}

test.each([
  [['hello\r'], 'hello\r'],
  [['a\x1db'], 'a!'],
  [['~.'], '!'],
  [['ls\r', '~', '.'], 'ls\r!'],
  [['ls ~.'], 'ls ~.'],
  [['~~.'], '~.'],
  [['~', 'x\r~.'], '~x\r!'],
  [['~\r~.'], '~\r!'],
  [['~'], ''],
  [['é~.'], 'é~.'],
])('%j becomes %j', (pieces, passed) => {
  expect(typed(...pieces)).toBe(passed);
});
