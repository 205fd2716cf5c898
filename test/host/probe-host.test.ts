import { expect, test } from 'vitest';

import { ownerLabel, thisOwner, trialLabel } from '../../src/base/process-owner.ts';
import { findEngine } from '../../src/host/docker/engine.ts';
import { probeHost } from '../../src/host/probes/probe-host.ts';
import { doctorLines } from '../../src/cli/doctor.ts';
import { tryRuntime } from '../../src/host/runsc/try-runtime.ts';

test('this machine has an engine and a gVisor that runs containers, and probing leaves nothing', async () => {
  const report = await probeHost();
  const found = new Map(report.checks.map((each) => [each.id, each]));
  expect(found.get('docker')).toMatchObject({ state: 'ok' });
  expect(found.get('runsc')).toMatchObject({
    state: 'ok',
    details: {
      platform: expect.stringMatching(/systrap|kvm|ptrace/) as string,
      network: 'sandbox',
    },
  });
  expect(found.get('network')).toMatchObject({ state: 'ok', details: { filter: 'iptables' } });
  expect(found.size).toBe(12);
  for (const { state, remedy } of report.checks) {
    if (state !== 'ok') expect(remedy).toBeTypeOf('string');
  }
  expect(doctorLines(report).join('\n')).toContain('✓ ok       gVisor (runsc)');
  expect(await probeContainers()).toEqual([]);
});

test('a runtime that the engine does not have is an error, and leaves nothing', async () => {
  const { engine } = await findEngine();
  if (!engine) throw new Error('no engine');
  await expect(tryRuntime(engine, 'no-such-runtime')).rejects.toThrow('no-such-runtime');
  expect(await probeContainers()).toEqual([]);
});

test('a forgotten trial that somebody else has removed meanwhile is no failure', async () => {
  const { engine } = await findEngine();
  if (!engine) throw new Error('no engine');
  const gone = { Id: '0'.repeat(64), Created: 0, Labels: {} };
  const listContainers = async (): Promise<unknown[]> => [gone];
  const docker = Object.assign(Object.create(engine.docker) as typeof engine.docker, {
    listContainers,
  });
  expect((await tryRuntime({ ...engine, docker }, 'runsc')).kernel).toContain('gvisor');
});

/** Of this process: other tests try runtimes on the same engine, and kill servers that do. */
async function probeContainers(): Promise<unknown[]> {
  const { engine } = await findEngine();
  const label = [`${trialLabel}=true`, `${ownerLabel}=${await thisOwner()}`];
  return (await engine?.docker.listContainers({ all: true, filters: { label } })) ?? [];
}
