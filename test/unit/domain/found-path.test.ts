import { expect, test } from 'vitest';
import { foundPath } from '../../../src/domain/search-tools.ts';

test.each([
  [Buffer.from('a b/ü\n\\'), 'a b/ü\n\\', false],
  [Buffer.from([0x61, 0xff, 0x5c, 0xc3, 0xbc]), 'a\\xff\\\\ü', true],
  [Buffer.from([0xc3]), '\\xc3', true],
  [Buffer.from([0xed, 0xa0, 0x80]), '\\xed\\xa0\\x80', true],
  [Buffer.from([0xf0, 0x9f, 0x98, 0x80, 0x80]), '😀\\x80', true],
  [Buffer.from([0xef, 0xbf, 0xbd]), '\ufffd', false],
])('%j', (bytes, path, escaped) => {
  expect(foundPath(bytes)).toEqual({ path, escaped });
});
