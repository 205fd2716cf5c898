import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestStore } from '../api/support/server.ts';
import type { TestStore } from '../api/support/server.ts';
import { verifies } from '../support/verifies.ts';
import { startOrchestra } from './support-orchestration.ts';
import type { Orchestra } from './support-orchestration.ts';

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(async () => {
  await store[Symbol.asyncDispose]();
});

const path = '/api/v1/agent/workspaces';
const kvmError = 'KVM: cannot create the machine';

function fallbacksLogged({ server }: Orchestra): readonly unknown[] {
  return server.recorded
    .entries()
    .filter(({ level, msg }) => level === 'warn' && msg.includes('falling back'))
    .map(({ provider, next }) => [provider, next]);
}

describe('a create that fails on the best provider', () => {
  verifies(
    ['orchestration/firecracker-fails-falls-back-to-gvisor'],
    'is made by the next one; the attempts are logged, counted and in the metadata',
    async () => {
      await using orchestra = await startOrchestra(store);
      orchestra.firecracker.refusal = kvmError;
      const created = await orchestra.create({ metadata: { purpose: 'test' } });
      expect(created).toMatchObject({
        ...{ provider: 'gvisor', status: 'ready' },
        metadata: {
          purpose: 'test',
          attempts: [
            { provider: 'firecracker', result: 'failed', reason: kvmError },
            { provider: 'gvisor', result: 'created' },
          ],
        },
      });
      expect(fallbacksLogged(orchestra)).toEqual([['firecracker', 'gvisor']]);
      expect(await orchestra.sandboxes()).toEqual({ firecracker: 0, gvisor: 1, e2b: 0 });
      expect(orchestra.server.engine.workspaces.createAttempts()).toEqual([
        { provider: 'firecracker', result: 'failed', count: 1 },
        { provider: 'gvisor', result: 'created', count: 1 },
      ]);
    },
  );

  verifies(
    ['orchestration/e2b-fails-falls-back-to-firecracker-then-gvisor'],
    'goes through E2B, Firecracker and gVisor in this order',
    async () => {
      await using orchestra = await startOrchestra(store, 'managed');
      orchestra.e2b.refusal = 'quota exceeded';
      orchestra.firecracker.refusal = kvmError;
      const { provider, metadata } = await orchestra.create();
      expect(provider).toBe('gvisor');
      expect(metadata.attempts.map((attempt) => attempt['provider'])).toEqual([
        ...['e2b', 'firecracker', 'gvisor'],
      ]);
      expect(fallbacksLogged(orchestra)).toEqual([
        ['e2b', 'firecracker'],
        ['firecracker', 'gvisor'],
      ]);
    },
  );

  test('leaves out what has no KVM on the way', async () => {
    await using orchestra = await startOrchestra(store, 'managed');
    orchestra.e2b.refusal = 'API error';
    orchestra.firecracker.breaks('no KVM', 'absent');
    await orchestra.clock.advance(35_000);
    expect((await orchestra.create()).provider).toBe('gvisor');
    expect(orchestra.firecracker.creates).toBe(0);
  });

  test('does not try it again for half a minute, as long as another can serve', async () => {
    await using orchestra = await startOrchestra(store);
    const { firecracker, clock } = orchestra;
    firecracker.refusal = kvmError;
    await orchestra.create();
    firecracker.mend();
    expect((await orchestra.create()).provider).toBe('gvisor');
    expect(firecracker.creates).toBe(1);
    await clock.advance(29_000);
    expect((await orchestra.create()).provider).toBe('gvisor');
    await clock.advance(1_000);
    expect((await orchestra.create()).provider).toBe('firecracker');
  });

  test('tries the only one it has again at once', async () => {
    await using orchestra = await startOrchestra(store, 'self-hosted', {
      without: ['firecracker', 'e2b'],
    });
    orchestra.gvisor.refusal = 'busy';
    await orchestra.server.admin.error(503, 'POST', path, { json: {} });
    orchestra.gvisor.mend();
    expect((await orchestra.create()).provider).toBe('gvisor');
  });
});

describe('a create on a provider asked for by name', () => {
  verifies(
    ['orchestration/explicit-provider-request-does-not-fallback'],
    'that fails is an error, and no other provider is tried',
    async () => {
      await using orchestra = await startOrchestra(store);
      orchestra.firecracker.refusal = kvmError;
      const json = { provider: 'firecracker' };
      const { admin } = orchestra.server;
      const error = await admin.error(502, 'POST', path, { json });
      expect(error).toMatchObject({ code: 'provider_failed', message: kvmError });
      expect([orchestra.gvisor.creates, orchestra.e2b.creates]).toEqual([0, 0]);
      expect(await orchestra.sandboxes()).toEqual({ firecracker: 0, gvisor: 0, e2b: 0 });
    },
  );

  test('that is not configured here is refused with the reason and what to do', async () => {
    const unconfigured = [{ name: 'e2b', reason: 'no API key', remedy: 'Set E2B_API_KEY.' }];
    const options = { without: ['e2b'], unconfigured } as const;
    await using orchestra = await startOrchestra(store, 'managed', options);
    const json = { provider: 'e2b' };
    const { admin } = orchestra.server;
    const error = await admin.error(503, 'POST', path, { json });
    expect(error).toMatchObject({
      code: 'provider_unavailable',
      message: 'e2b: no API key',
      hint: 'Set E2B_API_KEY.',
    });
    const { providers } = await admin.json<{ providers: { name: string; reason: string }[] }>(
      ...([200, 'GET', `${path}/providers`] as const),
    );
    expect(providers.find(({ name }) => name === 'e2b')).toMatchObject({
      ...{ status: 'absent', reason: 'no API key' },
    });
  });
});

describe('when every provider fails', () => {
  verifies(
    ['orchestration/all-providers-fail'],
    'the error lists each with its reason, those that were passed over too',
    async () => {
      const unconfigured = [{ name: 'e2b', reason: 'no API key', remedy: 'Set E2B_API_KEY.' }];
      const options = { without: ['e2b'], unconfigured } as const;
      await using orchestra = await startOrchestra(store, 'managed', options);
      orchestra.firecracker.breaks('the manager cannot be reached');
      await orchestra.clock.advance(35_000);
      orchestra.gvisor.refusal = 'no space left on device';
      const { admin } = orchestra.server;
      const error = await admin.error(503, 'POST', path, { json: {} });
      expect(error.details?.['providers']).toEqual([
        { name: 'firecracker', reason: 'the manager cannot be reached' },
        { name: 'e2b', reason: 'no API key' },
        { name: 'gvisor', reason: 'no space left on device' },
      ]);
      for (const part of ['the manager cannot be reached', 'no API key', 'no space left']) {
        expect(error.message).toContain(part);
      }
      expect(await orchestra.sandboxes()).toEqual({ firecracker: 0, gvisor: 0, e2b: 0 });
      const { items } = await admin.json<{ items: unknown[] }>(200, 'GET', path);
      expect(items).toEqual([]);
    },
  );

  test('and one is back, it is used at once', async () => {
    await using orchestra = await startOrchestra(store);
    const { firecracker, gvisor, e2b, clock, server } = orchestra;
    for (const provider of [firecracker, gvisor, e2b]) provider.breaks('down');
    await clock.advance(35_000);
    await server.admin.error(503, 'POST', path, { json: {} });
    gvisor.mend();
    expect((await orchestra.create()).provider).toBe('gvisor');
  });
});
