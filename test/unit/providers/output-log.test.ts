import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { OutputEvent } from '../../../src/domain/exec.ts';
import { OutputLog } from '../../../src/providers/memory/output-log.ts';

const never = new AbortController().signal;
const exit = { exitCode: 0, signal: null };

function read(log: OutputLog, offset = 0, follow = true): Promise<OutputEvent[]> {
  return Array.fromAsync(log.read({ offset, follow }, never));
}

function textOf(events: readonly OutputEvent[]): string {
  return events
    .map((event) => ('data' in event ? Buffer.from(event.data).toString() : ''))
    .join('');
}

describe('OutputLog', () => {
  test('from any place, what was not dropped is read exactly, and the rest is counted', async () => {
    const piece = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 9 });
    const place = fc.double({ min: 0, max: 1, noNaN: true });
    const pieces = fc.array(piece, { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(pieces, fc.nat({ max: 40 }), place, async (parts, limit, where) => {
        const log = new OutputLog(limit);
        for (const part of parts) log.push('stdout', Buffer.from(part));
        log.end(exit);
        const all = parts.join('');
        const offset = Math.floor(where * all.length);
        const events = await read(log, offset);
        const from = Math.max(offset, log.dropped);
        expect(textOf(events)).toBe(all.slice(from));
        const skipped = events.filter((event) => event.type === 'skipped');
        const expected = { type: 'skipped', bytes: from - offset, offset: from };
        expect(skipped).toEqual(from > offset ? [expected] : []);
        expect(events.at(-1)).toEqual({ type: 'exit', ...exit });
        expect(log.bytes).toBe(all.length);
        expect(log.bytes - log.dropped).toBeLessThanOrEqual(limit);
      }),
    );
  });

  test('the offsets of events are places to go on from', async () => {
    const log = new OutputLog();
    log.push('stdout', Buffer.from('abc'));
    log.push('stderr', Buffer.from('de'));
    log.end(exit);
    expect(await read(log)).toEqual([
      { type: 'stdout', data: Buffer.from('abc'), offset: 3 },
      { type: 'stderr', data: Buffer.from('de'), offset: 5 },
      { type: 'exit', ...exit },
    ]);
  });

  test('a reader that follows gets what comes later; one that does not ends', async () => {
    const log = new OutputLog();
    log.push('stdout', Buffer.from('early '));
    const following = read(log);
    expect(textOf(await read(log, 0, false))).toBe('early ');
    log.push('stdout', Buffer.from('late'));
    log.end(exit);
    expect(textOf(await following)).toBe('early late');
  });

  test('a reader that waits is let go by its signal', async () => {
    const controller = new AbortController();
    const waiting = new OutputLog().read({ offset: 0, follow: true }, controller.signal).next();
    controller.abort(new Error('the caller went away'));
    await expect(waiting).rejects.toThrow('the caller went away');
  });

  test('a place that no output has reached is refused', () => {
    const log = new OutputLog();
    log.push('stdout', Buffer.from('abc'));
    log.requireOffset(3);
    expect(() => {
      log.requireOffset(4);
    }).toThrow(expect.objectContaining({ code: 'invalid_value' }));
  });
});
