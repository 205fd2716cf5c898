import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OutputWindow } from '../../../src/engine/tools/output-window.ts';

const marker = /\n\[… (\d+) bytes left out …\]\n/;
const replacement = '�';

function windowOver(kept: number, chunks: readonly Uint8Array[]): OutputWindow {
  const window = new OutputWindow(kept);
  for (const chunk of chunks) window.push(chunk);
  return window;
}

/** The bytes in pieces of the given sizes, and the rest in one. */
function pieces(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const cut: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    cut.push(bytes.subarray(at, at + size));
    at += size;
  }
  return [...cut, bytes.subarray(at)];
}

/** What a truncated text shows of the stream: before the mark, after it, and the number in it. */
function parts(text: string): { head: string; tail: string; left: number } {
  const found = marker.exec(text);
  if (!found) throw new Error(`no mark in ${text}`);
  const end = found.index + found[0].length;
  return { head: text.slice(0, found.index), tail: text.slice(end), left: Number(found[1]) };
}

const kept = fc.integer({ min: 0, max: 40 });
const text = fc.string({ unit: fc.constantFrom('a', '\n', 'ä', '€', '😀'), maxLength: 60 });
const sizes = fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 20 });

describe('OutputWindow', () => {
  test('counts every byte, and tells when not all are kept', () => {
    fc.assert(
      fc.property(kept, text, sizes, (limit, printed, cuts) => {
        const bytes = Buffer.from(printed);
        const window = windowOver(limit, pieces(bytes, cuts));
        expect(window.totalBytes).toBe(bytes.length);
        expect(window.truncated).toBe(bytes.length > limit - (limit % 2));
      }),
    );
  });

  test('how the stream was chopped makes no difference', () => {
    fc.assert(
      fc.property(kept, fc.uint8Array({ maxLength: 80 }), sizes, (limit, printed, cuts) => {
        const whole = windowOver(limit, [printed]).text();
        expect(windowOver(limit, pieces(Buffer.from(printed), cuts)).text()).toBe(whole);
      }),
    );
  });

  test('what fits is shown whole', () => {
    fc.assert(
      fc.property(text, sizes, (printed, cuts) => {
        const bytes = Buffer.from(printed);
        const limit = bytes.length + (bytes.length % 2);
        expect(windowOver(limit, pieces(bytes, cuts)).text()).toBe(printed);
      }),
    );
  });

  test('of what does not fit, the exact head and tail, without a split character', () => {
    fc.assert(
      fc.property(kept, text, sizes, (limit, printed, cuts) => {
        const bytes = Buffer.from(printed);
        const window = windowOver(limit, pieces(bytes, cuts));
        fc.pre(window.truncated);
        const { head, tail, left } = parts(window.text());
        const shown = [Buffer.byteLength(head), Buffer.byteLength(tail)];
        const half = Math.floor(limit / 2);
        expect(head + tail).not.toContain(replacement);
        expect(printed.startsWith(head)).toBe(true);
        expect(printed.endsWith(tail)).toBe(true);
        // At most the three bytes of a character that the cut went through are given up on each side.
        for (const length of shown) {
          expect(length).toBeLessThanOrEqual(half);
          expect(length).toBeGreaterThan(half - 4);
        }
        expect(left).toBe(bytes.length - Buffer.byteLength(head) - Buffer.byteLength(tail));
      }),
    );
  });

  test('keeps its own copy: the source may reuse its buffer', () => {
    const window = new OutputWindow(8);
    const buffer = Buffer.from('abcdef');
    window.push(buffer);
    buffer.fill('x');
    expect(window.text()).toBe('abcdef');
  });

  test('bytes that are no UTF-8 at all do not stop it', () => {
    const window = windowOver(8, [Buffer.alloc(100, 0x80)]);
    expect(window.truncated).toBe(true);
    expect(window.text()).toMatch(marker);
  });
});
