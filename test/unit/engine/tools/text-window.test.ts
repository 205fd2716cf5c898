import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TextWindow } from '../../../../src/engine/tools/text-window.ts';

function windowOf(text: string, { offset = 1, limit = 2_000, step = text.length || 1 } = {}) {
  const window = new TextWindow({ offset, limit });
  for (let at = 0; at < text.length; at += step) window.push(text.slice(at, at + step));
  window.end();
  return window;
}

const numbered = (lines: readonly string[], offset = 1): string =>
  lines.map((line, index) => `${String(index + offset)}: ${line}`).join('\n');

describe('lines', () => {
  test.each([
    ['', '', 0, null],
    ['\n', '1: ', 1, true],
    ['a', '1: a', 1, false],
    ['a\n', '1: a', 1, true],
    ['a\n\nb', '1: a\n2: \n3: b', 3, false],
    ['a\r\nb\r\n', '1: a\n2: b', 2, true],
    ['a\rb', '1: a\rb', 1, false],
    ['a\r', '1: a\r', 1, false],
    ['\r\n', '1: ', 1, true],
    ['\uFEFFa\n', '1: \uFEFFa', 1, true],
  ])('of %j', (text, content, lines, endsWithNewline) => {
    for (const step of [1, 2, 100]) {
      const window = windowOf(text, { step });
      expect(window).toMatchObject({ content, lines, endsWithNewline, full: false });
    }
  });

  test.each([
    ['a\nb\n', 'lf'],
    ['a\r\nb\r\n', 'crlf'],
    ['a\r\nb\n', 'mixed'],
    ['a\nb\r\nc\n', 'mixed'],
    ['a\r\nb', 'crlf'],
    ['a', null],
    ['', null],
  ])('endings of %j', (text, ending) => {
    for (const step of [1, 100]) expect(windowOf(text, { step }).lineEnding).toBe(ending);
  });

  test('are the same as those of split, wherever the window lies', () => {
    const lines = fc.array(
      fc.string({ maxLength: 5 }).map((line) => line.replace(/[\r\n]/g, '')),
      {
        maxLength: 8,
      },
    );
    const count = fc.integer({ min: 1, max: 9 });
    fc.assert(
      fc.property(lines, count, count, count, (all, offset, limit, step) => {
        const text = all.map((line) => `${line}\n`).join('');
        const window = windowOf(text, { offset, limit, step });
        const shown = all.slice(offset - 1, offset - 1 + limit);
        expect(window.content).toBe(numbered(shown, offset));
        expect(window.full).toBe(all.length > offset - 1 + limit);
      }),
    );
  });
});

describe('bounds', () => {
  test('a line of 2,000 characters is whole, one more is cut', () => {
    const long = 'x'.repeat(2_000);
    expect(windowOf(`${long}\n`).content).toBe(`1: ${long}`);
    expect(windowOf(`${long}\r\n`).content).toBe(`1: ${long}`);
    const cut = `1: ${long}… [line cut: 2001 characters]`;
    expect(windowOf(`${long}y\n`).content).toBe(cut);
    expect(windowOf(`${long}y`, { step: 7 }).content).toBe(cut);
    expect(windowOf(`${long}y\r\nnext`).content).toBe(`${cut}\n2: next`);
  });

  test('no character is cut in two', () => {
    const text = `${'x'.repeat(1_999)}🎉`;
    expect(windowOf(text).content).toBe(`1: ${'x'.repeat(1_999)}… [line cut: 2001 characters]`);
    expect(windowOf(text).content.isWellFormed()).toBe(true);
  });

  test('50 KB are shown, not a byte more', () => {
    // Each "N: …" of 1,024 bytes with the newline between them.
    const lines = Array.from(
      { length: 60 },
      (_, index) => 'é'.repeat(509) + (index < 9 ? 'xy' : 'x'),
    );
    const exact = windowOf(lines.map((line) => `${line}\n`).join(''));
    expect(Buffer.byteLength(exact.content)).toBe(50 * 1024 - 1);
    expect(exact).toMatchObject({ shown: 50, full: true });
  });

  test('a last line that does not fit is not lost', () => {
    const text = `${`${'x'.repeat(1_999)}\n`.repeat(25)}${'y'.repeat(2_000)}`;
    expect(windowOf(text)).toMatchObject({ shown: 25, full: true });
  });

  test('the end of the window at the end of the text is the end', () => {
    expect(windowOf('a\nb\n', { limit: 2 })).toMatchObject({ shown: 2, full: false, lines: 2 });
    expect(windowOf('a\nb\n\n', { limit: 2 })).toMatchObject({ shown: 2, full: true });
    expect(windowOf('a\nb\nc', { limit: 2 })).toMatchObject({ shown: 2, full: true });
  });

  test('a window behind the end tells how many lines there are', () => {
    expect(windowOf('a\nb\nc', { offset: 9 })).toMatchObject({
      content: '',
      lines: 3,
      full: false,
    });
  });

  test('a line without an end is not held', () => {
    const window = new TextWindow({ offset: 1, limit: 10 });
    for (let turn = 0; turn < 1_000; turn++) window.push('x'.repeat(100_000));
    window.end();
    expect(window.content).toBe(`1: ${'x'.repeat(2_000)}… [line cut: 100000000 characters]`);
  });
});
