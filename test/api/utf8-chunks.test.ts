import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Utf8Chunks } from '../../src/api/stream/utf8-chunks.ts';
import type { OutputChunk } from '../../src/api/stream/utf8-chunks.ts';

function throughChunks(bytes: Buffer, cuts: readonly number[]): readonly OutputChunk[] {
  const chunks = new Utf8Chunks();
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
  edges.sort((a, b) => a - b);
  const pieces = edges.slice(1).map((end, i) => chunks.push(bytes.subarray(edges[i], end)));
  return [...pieces, chunks.flush()].filter((piece) => piece !== undefined);
}

function joined(pieces: readonly OutputChunk[]): Buffer {
  return Buffer.concat(
    pieces.map((piece) =>
      'text' in piece ? Buffer.from(piece.text) : Buffer.from(piece.base64, 'base64'),
    ),
  );
}

const cuts = fc.array(fc.nat());

test('any bytes, cut anywhere, come out unchanged', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), cuts, (data, at) => {
      const bytes = Buffer.from(data);
      expect(joined(throughChunks(bytes, at))).toEqual(bytes);
    }),
    { numRuns: 500 },
  );
});

test('text, cut anywhere, is only ever text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 64 }), cuts, (text, at) => {
      const pieces = throughChunks(Buffer.from(text), at);
      expect(pieces.map((piece) => ('text' in piece ? piece.text : '<base64>')).join('')).toBe(
        text,
      );
    }),
    { numRuns: 500 },
  );
});

test('a byte-order mark stays', () => {
  expect(new Utf8Chunks().push(Buffer.from('\ufeffa'))).toEqual({ text: '\ufeffa' });
});
