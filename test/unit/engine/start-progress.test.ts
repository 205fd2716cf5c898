import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { EmergentError } from '../../../src/domain/errors.ts';
import type { StartProgress } from '../../../src/domain/provider.ts';
import { alice, never, request, setUp, workspaceIn } from './support/workspaces.ts';
import type { Setup } from './support/workspaces.ts';

const wanted = { ...request, provider: 'fake' };
const minute = 60_000;

function pulling(bytes: number): StartProgress {
  return { step: 'pulling_image', message: `pulling x, ${String(bytes)}`, detail: { bytes } };
}

async function eventsOf({ store }: Setup): Promise<readonly unknown[]> {
  const events = await store.events.list({ after: 0, limit: 100 });
  return events.map(({ type, detail }) => [type, detail['bytes'] ?? null]);
}

describe('the progress of a start', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('holds off the deadline of a create', async () => {
    const setup = setUp();
    setup.provider.create.mockImplementationOnce(async (spec, signal, onProgress) => {
      for (let bytes = 1; bytes <= 20; bytes += 1) {
        onProgress?.(pulling(bytes));
        await vi.advanceTimersByTimeAsync(minute);
        signal.throwIfAborted();
      }
      return { limits: spec.limits, metadata: {} };
    });
    const created = await setup.workspaces.create(alice, wanted, never());
    expect(created.status).toBe('ready');
  });

  test('that stops ends a create', async () => {
    const setup = setUp();
    setup.provider.create.mockImplementationOnce(async (_, signal, onProgress) => {
      onProgress?.(pulling(1));
      await vi.advanceTimersByTimeAsync(1.5 * minute);
      signal.throwIfAborted();
      throw new Error('was not ended');
    });
    await expect(setup.workspaces.create(alice, wanted, never())).rejects.toThrow(
      'creating a workspace on fake made no progress for 90000 ms',
    );
    expect(setup.store.rows.size).toBe(0);
  });

  test('is told by events, in order and before the workspace is ready', async () => {
    const setup = setUp();
    setup.provider.create.mockImplementationOnce(async (spec, _, onProgress) => {
      onProgress?.(pulling(1));
      await Promise.resolve();
      onProgress?.(pulling(2));
      onProgress?.(pulling(3));
      return { limits: spec.limits, metadata: {} };
    });
    await setup.workspaces.create(alice, wanted, never());
    const events = await eventsOf(setup);
    expect(events.at(0)).toEqual(['workspace.creating', null]);
    expect(events.at(1)).toEqual(['workspace.creating', 1]);
    expect(events.at(-2)).toEqual(['workspace.creating', 3]);
    expect(events.at(-1)).toEqual(['workspace.ready', null]);
  });

  test('is told of a resume, too', async () => {
    const setup = setUp();
    const { id } = workspaceIn(setup, 'stopped');
    setup.provider.resume.mockImplementationOnce(async (_ref, spec, _signal, onProgress) => {
      onProgress?.(pulling(1));
      return { limits: spec.limits, metadata: {} };
    });
    await setup.workspaces.resume(alice, id);
    expect(await eventsOf(setup)).toEqual([
      ...[
        ['workspace.resuming', null],
        ['workspace.resuming', 1],
      ],
      ['workspace.ready', null],
    ]);
  });

  test('a create does not fail for want of such an event', async () => {
    const setup = setUp();
    const lost = new EmergentError('store_unavailable', 'the database is away');
    setup.provider.create.mockImplementationOnce(async (spec, _, onProgress) => {
      vi.spyOn(setup.store, 'transition').mockRejectedValueOnce(lost);
      onProgress?.(pulling(1));
      return { limits: spec.limits, metadata: {} };
    });
    expect((await setup.workspaces.create(alice, wanted, never())).status).toBe('ready');
    expect(JSON.stringify(setup.recorded)).toContain('progress');
  });
});
