import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DeadlineError, withDeadline, withRenewedDeadline } from '../../../src/base/deadline.ts';

const forever = (): Promise<never> => new Promise(() => undefined);

describe('withDeadline', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('hands on the result and leaves no timer', async () => {
    await expect(withDeadline('asking', 1000, async () => 42)).resolves.toBe(42);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('hands on the failure of the work, also when it throws at once', async () => {
    const failure = new Error('broken');
    await expect(withDeadline('asking', 1000, () => Promise.reject(failure))).rejects.toBe(failure);
    const throws = (): Promise<never> => {
      throw failure;
    };
    await expect(withDeadline('asking', 1000, throws)).rejects.toBe(failure);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('stops waiting for work that ignores its signal, and names the call', async () => {
    const result = withDeadline('docker ping', 250, forever);
    const failed = expect(result).rejects.toMatchObject({
      name: 'DeadlineError',
      what: 'docker ping',
      ms: 250,
      message: 'docker ping did not finish within 250 ms',
    });
    await vi.advanceTimersByTimeAsync(250);
    await failed;
  });

  test('aborts the signal of the work with the same error', async () => {
    const seen = Promise.withResolvers<AbortSignal>();
    const result = withDeadline('asking', 10, (signal) => {
      seen.resolve(signal);
      return forever();
    });
    const failed = expect(result).rejects.toBeInstanceOf(DeadlineError);
    await vi.advanceTimersByTimeAsync(10);
    await failed;
    const signal = await seen.promise;
    expect(signal.reason).toBeInstanceOf(DeadlineError);
  });

  test('ends when the outer signal aborts, with its reason', async () => {
    const outer = new AbortController();
    const result = withDeadline('asking', 1000, forever, outer.signal);
    const reason = new Error('the caller went away');
    outer.abort(reason);
    await expect(result).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('ends at once when the outer signal was aborted before', async () => {
    const result = withDeadline('asking', 1000, forever, AbortSignal.abort(new Error('gone')));
    await expect(result).rejects.toThrow('gone');
    const throws = (): Promise<never> => {
      throw new Error('refused to start');
    };
    const both = withDeadline('asking', 1000, throws, AbortSignal.abort(new Error('gone')));
    await expect(both).rejects.toThrow('refused to start');
  });

  test('a failure that comes too late is dropped and disturbs nobody', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const work = Promise.withResolvers<never>();
    const result = withDeadline('asking', 10, () => work.promise);
    const failed = expect(result).rejects.toBeInstanceOf(DeadlineError);
    await vi.advanceTimersByTimeAsync(10);
    await failed;
    work.reject(new Error('too late'));
    vi.useRealTimers();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe('withRenewedDeadline', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('gives the time anew with each sign of progress, and then says so', async () => {
    const given = Promise.withResolvers<(ms?: number) => void>();
    const result = withRenewedDeadline('pulling', 100, (_, renew) => {
      given.resolve(renew);
      return forever();
    });
    const failed = expect(result).rejects.toThrow('pulling made no progress for 300 ms');
    const renew = await given.promise;
    for (let i = 0; i < 5; i += 1) {
      await vi.advanceTimersByTimeAsync(99);
      renew();
    }
    renew(300);
    await vi.advanceTimersByTimeAsync(299);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    await failed;
    renew();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('without any progress it is a deadline like any other', async () => {
    const result = withRenewedDeadline('pulling', 100, forever);
    const failed = expect(result).rejects.toThrow('pulling did not finish within 100 ms');
    await vi.advanceTimersByTimeAsync(100);
    await failed;
  });
});
