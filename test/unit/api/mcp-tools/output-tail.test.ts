import { expect, test } from 'vitest';
import { OutputTail } from '../../../../src/api/mcp-tools/output-tail.ts';

test.each([
  ['lines', ['one\ntwo\n'], '8 bytes: two'],
  ['a line in pieces', ['on', 'e'], '3 bytes: one'],
  ['a character in pieces', ['tea ', Buffer.of(0xc3), Buffer.of(0xa9)], '6 bytes: tea é'],
  ['blank lines', ['one\n', '\n  \n'], '8 bytes: one'],
  ['a progress bar', ['10%\r', '20%\r'], '8 bytes: 20%'],
  ['colours', ['\u001b[31mred\u001b[0m\n'], '13 bytes: red'],
  ['control characters', ['a\u0007b'], '3 bytes: a b'],
  ['nothing but blanks', ['\n'], '1 bytes: '],
])('shows %s', (_, pieces, shown) => {
  const tail = new OutputTail();
  const said = pieces.map((piece) => tail.push('stdout', Buffer.from(piece)));
  expect(said.at(-1)).toBe(shown);
});

test('cuts long lines, and keeps no more of them than it shows', () => {
  const tail = new OutputTail();
  tail.push('stdout', Buffer.from('x'.repeat(10_000)));
  expect(tail.push('stdout', Buffer.from('y')).length).toBeLessThan(250);
});
