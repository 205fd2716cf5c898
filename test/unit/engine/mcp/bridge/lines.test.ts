import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineSplitter } from '../../../../../src/engine/mcp/bridge/lines.ts';

const maxBytes = 10_000;

function split(pieces: readonly Uint8Array[], max = maxBytes): readonly string[] {
  const seen: string[] = [];
  const splitter = new LineSplitter(max, {
    line: (bytes) => seen.push(`line ${bytes.toString('utf8')}`),
    tooLong: (head) => seen.push(`head ${head.toString('utf8')}`),
    tooLongEnded: (tail) => seen.push(`tail ${tail.toString('utf8')}`),
  });
  for (const piece of pieces) splitter.feed(piece);
  return seen;
}

function cutAt(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const cuts = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length];
  cuts.sort((a, b) => a - b);
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

describe('LineSplitter', () => {
  it('finds the same lines whatever the pieces in which they come', () => {
    const alphabet = Buffer.from('\n\n\r{}"aé😀');
    const stream = fc
      .array(fc.nat({ max: alphabet.length - 1 }), { maxLength: 100 })
      .map((indexes) => Buffer.from(indexes.map((index) => alphabet[index] ?? 0)));
    fc.assert(
      fc.property(stream, fc.array(fc.nat()), fc.integer({ min: 1, max: 30 }), (bytes, at, max) => {
        const [whole, cut] = [split([bytes], max), split(cutAt(bytes, at), max)];
        return JSON.stringify(whole) === JSON.stringify(cut);
      }),
    );
  });

  it('keeps characters whole that come in two pieces, and drops line ends and empty lines', () => {
    const bytes = Buffer.from('äöü😀\r\n\r\n\nnext\n', 'utf8');
    const pieces = [...bytes].map((byte) => Uint8Array.of(byte));
    expect(split(pieces)).toEqual(['line äöü😀', 'line next']);
  });

  it('drops a line that is too long as it comes, and goes on with the next', () => {
    const long = `${'a'.repeat(9)}${'b'.repeat(9)}`;
    expect(split([Buffer.from(long), Buffer.from('c\nok\n')], 12)).toEqual([
      `head ${long.slice(0, 12)}`,
      `tail ${long}c`,
      'line ok',
    ]);
    expect(split([Buffer.from(`${long}c\nok\n`)], 12)).toEqual([
      `head ${long.slice(0, 12)}`,
      `tail ${long}c`,
      'line ok',
    ]);
  });

  it('takes a line that is exactly as long as allowed', () => {
    expect(split([Buffer.from('123456\n')], 6)).toEqual(['line 123456']);
    expect(split([Buffer.from('123'), Buffer.from('456'), Buffer.from('\n')], 6)).toEqual([
      'line 123456',
    ]);
  });

  it('forgets a line whose rest is lost', () => {
    const lines: string[] = [];
    const ignore = (): undefined => undefined;
    const splitter = new LineSplitter(maxBytes, {
      line: (bytes) => lines.push(bytes.toString('utf8')),
      tooLong: ignore,
      tooLongEnded: ignore,
    });
    splitter.feed(Buffer.from('beg'));
    expect(splitter.cut().toString('utf8')).toBe('beg');
    splitter.feed(Buffer.from('in\nwhole\n'));
    expect(lines).toEqual(['in', 'whole']);
  });
});
