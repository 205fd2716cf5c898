import { expect, test } from 'vitest';
import { NameWindow } from '../../../../src/engine/tools/name-window.ts';

function windowOf(bytes: Buffer, { offset = 1, limit = 2_000, step = 3 } = {}): NameWindow {
  const window = new NameWindow({ offset, limit });
  for (let at = 0; at < bytes.length; at += step) window.push(bytes.subarray(at, at + step));
  return window;
}

const names = Buffer.from('a\0new\nline\0dir/\0☃\0');

test('tells names apart by the NUL behind them', () => {
  const entries = ['a', 'new\nline', 'dir/', '☃'];
  expect(windowOf(names)).toMatchObject({ entries, total: 4, full: false });
  expect(windowOf(names, { offset: 2, limit: 2 })).toMatchObject({
    ...{ entries: ['new\nline', 'dir/'], total: 4, full: true },
  });
  expect(windowOf(Buffer.alloc(0))).toMatchObject({ entries: [], total: 0, full: false });
});

test('shows a name that is not UTF-8 as far as it can be said', () => {
  expect(windowOf(Buffer.from([0x61, 0xff, 0x00, 0x62, 0x00])).entries).toEqual(['a\uFFFD', 'b']);
});

test('shows 50 KB of names at most', () => {
  const many = windowOf(Buffer.from(`${'x'.repeat(127)}\0`.repeat(1_000)), { step: 10_000 });
  expect(many).toMatchObject({ total: 1_000, full: true });
  expect(many.entries).toHaveLength(400);
});
