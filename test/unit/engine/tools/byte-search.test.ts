import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countMatches, replaceMatches } from '../../../../src/engine/tools/byte-search.ts';

async function* pieces(content: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let turn = 0; at < content.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield content.subarray(at, at + size);
    at += size;
  }
}

async function replaced(content: Buffer, needle: Buffer, by: Buffer, sizes: readonly number[]) {
  return Buffer.concat(await Array.fromAsync(replaceMatches(pieces(content, sizes), needle, by)));
}

/** One character per byte, so that what String.replaceAll does to characters it does to bytes. */
const asText = (bytes: Buffer): string => bytes.toString('latin1');

// Few different bytes, so that matches are frequent, overlap and lie across pieces; some are not UTF-8.
const bytes = (minLength: number, maxLength: number) =>
  fc
    .array(fc.constantFrom(0x61, 0x62, 0x0a, 0xff), { minLength, maxLength })
    .map((values) => Buffer.from(values));
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 });

test('replaces as String.replaceAll does, wherever the pieces end', async () => {
  await fc.assert(
    fc.asyncProperty(
      bytes(0, 60),
      bytes(1, 4),
      bytes(0, 4),
      sizes,
      async (text, needle, by, cut) => {
        const expected = asText(text).replaceAll(asText(needle), () => asText(by));
        expect(asText(await replaced(text, needle, by, cut))).toBe(expected);
      },
    ),
    { numRuns: 500 },
  );
});

test('counts as the text does, with and without overlaps', async () => {
  await fc.assert(
    fc.asyncProperty(bytes(0, 60), bytes(1, 4), sizes, async (text, needle, cut) => {
      const apart = asText(text).split(asText(needle)).length - 1;
      expect(await countMatches(pieces(text, cut), needle, needle.length)).toBe(apart);
      const starts = Array.from(asText(text), (_, at) =>
        asText(text).startsWith(asText(needle), at),
      );
      expect(await countMatches(pieces(text, cut), needle, 1)).toBe(starts.filter(Boolean).length);
    }),
    { numRuns: 500 },
  );
});

describe('content larger than a batch', () => {
  const needle = Buffer.from('needle');
  const content = Buffer.concat([
    ...[Buffer.alloc(65_533, '.'), needle],
    ...[Buffer.alloc(200_000, 'n'), needle, Buffer.alloc(10, 'needl')],
  ]);
  test.each([[1_000], [16_384], [65_536], [70_000, 3], [1_000_000]])(
    'in pieces of %s',
    async (...cut) => {
      expect(await countMatches(pieces(content, cut), needle, 1)).toBe(2);
      const expected = asText(content).replaceAll('needle', 'X');
      expect(asText(await replaced(content, needle, Buffer.from('X'), cut))).toBe(expected);
    },
  );

  test('a needle of a megabyte', async () => {
    const large = Buffer.alloc(2 ** 20, 'abc');
    const around = Buffer.concat([Buffer.from('<'), large, Buffer.from('>')]);
    expect(await countMatches(pieces(around, [16_384]), large, 1)).toBe(1);
    expect(asText(await replaced(around, large, Buffer.from('-'), [16_384]))).toBe('<->');
  });
});

test('stops counting where told, and lets go of the content', async () => {
  let left = false;
  const endless = (async function* () {
    try {
      for (;;) yield Buffer.alloc(1_000, 'a');
    } finally {
      left = true;
    }
  })();
  expect(await countMatches(endless, Buffer.from('aa'), 1, 10_000)).toBe(10_000);
  expect(left).toBe(true);
});
