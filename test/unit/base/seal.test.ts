import { expect, test } from 'vitest';
import { Seal } from '../../../src/base/seal.ts';

const key = new Uint8Array(32).fill(7);

test('what was sealed can be opened with the same key and purpose', () => {
  const sealed = new Seal(key, 'purpose').close('PASSWORD=ü');
  expect(new Seal(key, 'purpose').open(sealed)).toBe('PASSWORD=ü');
  expect(sealed).not.toContain('PASSWORD');
});

test('the same text is never sealed alike', () => {
  const seal = new Seal(key, 'purpose');
  expect(seal.close('a')).not.toBe(seal.close('a'));
});

test('another key, another purpose or a changed byte opens nothing', () => {
  const sealed = new Seal(key, 'purpose').close('secret');
  const changed = Buffer.from(sealed, 'base64');
  changed.writeUInt8(changed.readUInt8(changed.length - 1) ^ 1, changed.length - 1);
  expect(() => new Seal(new Uint8Array(32), 'purpose').open(sealed)).toThrow();
  expect(() => new Seal(key, 'other').open(sealed)).toThrow();
  expect(() => new Seal(key, 'purpose').open(changed.toString('base64'))).toThrow();
  expect(() => new Seal(key, 'purpose').open('')).toThrow();
});
