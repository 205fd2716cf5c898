import { describe, expect, test, vi } from 'vitest';
import { OutputQueue } from '../../../src/providers/memory/output-queue.ts';
import type { ExecEvent } from '../../../src/domain/exec.ts';

const kilobytes = (count: number): ExecEvent => ({
  type: 'stdout',
  data: new Uint8Array(count * 1024),
});
const exit: ExecEvent = { type: 'exit', exitCode: 0, signal: null };

describe('OutputQueue', () => {
  test('yields everything in order and ends with the exit', async () => {
    const queue = new OutputQueue(vi.fn());
    const events = [kilobytes(1), kilobytes(2), exit];
    for (const event of events) queue.push(event);
    expect(await Array.fromAsync(queue.read())).toEqual(events);
  });

  test('a reader that is there first is given events as they come', async () => {
    const queue = new OutputQueue(vi.fn());
    const reading = Array.fromAsync(queue.read());
    queue.push(kilobytes(1));
    queue.push(exit);
    expect(await reading).toHaveLength(2);
  });

  test('is full at its limit, and says when the reader has made room', async () => {
    const onSpace = vi.fn();
    const queue = new OutputQueue(onSpace);
    queue.push(kilobytes(1023));
    expect(queue.full).toBe(false);
    queue.push(kilobytes(1));
    expect(queue.full).toBe(true);
    expect(onSpace).not.toHaveBeenCalled();

    const room = queue.space();
    await queue.read().next();
    await room;
    expect(queue.full).toBe(false);
    expect(onSpace).toHaveBeenCalledOnce();
  });

  test('keeps nothing once its reader has left', async () => {
    const queue = new OutputQueue(vi.fn());
    queue.push(kilobytes(1024));
    for await (const event of queue.read()) {
      expect(event.type).toBe('stdout');
      break;
    }
    queue.push(kilobytes(4096));
    expect(queue.full).toBe(false);
  });

  test('is read once', async () => {
    const queue = new OutputQueue(vi.fn());
    queue.push(exit);
    await Array.fromAsync(queue.read());
    await expect(queue.read().next()).rejects.toMatchObject({ code: 'wrong_state' });
  });
});
