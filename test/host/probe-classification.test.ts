import { expect, test } from 'vitest';

import { explain } from '../../src/host/docker/engine.ts';
import { endpoints } from '../../src/host/docker/endpoint.ts';
import { check } from '../../src/host/probes/check.ts';
import type { Check, CheckId, CheckState } from '../../src/host/probes/check.ts';
import { lookAtDatabase, withoutSecrets } from '../../src/host/probes/database.ts';
import { mountOf } from '../../src/host/probes/disk.ts';
import { dockerFinding } from '../../src/host/probes/docker.ts';
import { isolationsOf } from '../../src/host/probes/probe-host.ts';
import { runscFinding } from '../../src/host/probes/runsc.ts';
import { platformOf } from '../../src/host/runsc/try-runtime.ts';

const socket = { kind: 'unix', socketPath: '/var/run/docker.sock' } as const;
const failure = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });

test.each([
  ['ENOENT', false, 'absent'],
  ['ENOENT', true, 'stopped'],
  ['ECONNREFUSED', true, 'stopped'],
  ['EACCES', true, 'denied'],
  ['EPIPE', true, 'broken'],
] as const)('an engine that answers %s (installed: %s) is %s', (code, installed, why) => {
  const found = explain(failure(code), socket, installed);
  expect(found.why).toBe(why);
  expect(found.remedy).not.toBe('');
});

test('a missing engine is missing, a stopped one is broken', () => {
  const look = (installed: boolean): CheckState =>
    dockerFinding({ engine: undefined, ...explain(failure('ENOENT'), socket, installed) }).state;
  expect(look(false)).toBe('missing');
  expect(look(true)).toBe('broken');
});

test('DOCKER_HOST alone counts when it is set', () => {
  expect(endpoints({ DOCKER_HOST: 'unix:///x.sock' })).toEqual([
    { kind: 'unix', socketPath: '/x.sock' },
  ]);
  expect(endpoints({ DOCKER_HOST: 'tcp://h:2376' })).toEqual([
    { kind: 'remote', url: 'tcp://h:2376' },
  ]);
  expect(endpoints({})[0]).toEqual(socket);
});

test('a runtime is judged by what its container saw', () => {
  const runtime = { name: 'runsc', path: '/opt/runsc', arguments: [] };
  const judge = (kernel: string, network: string | null): CheckState =>
    runscFinding(runtime, { kernel, platform: 'systrap', network }, 'release-1', '6.1.0-host')
      .state;
  expect(judge('4.4.0', 'sandbox')).toBe('ok');
  expect(judge('4.4.0', null)).toBe('ok');
  expect(judge('4.4.0', 'host')).toBe('reduced');
  expect(judge('6.1.0-host', null)).toBe('broken');
});

test("the platform shows in the sandbox's open files", () => {
  expect(platformOf(['/dev/null', '/memfd:systrap-memory (deleted)'])).toBe('systrap');
  expect(platformOf(['/dev/kvm', 'socket:[1]'])).toBe('kvm');
  expect(platformOf(['socket:[1]'])).toBe('ptrace');
  expect(platformOf([])).toBeNull();
});

const mountinfo = [
  '22 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard',
  '30 22 259:1 / /var/lib/docker rw - xfs /dev/nvme1n1 rw,attr2,prjquota',
  '31 22 0:50 / /var/lib/docker-old rw - btrfs /dev/sdb rw',
].join('\n');

test('the file system is that of the mount that holds the directory', () => {
  expect(mountOf('/home/me', mountinfo)).toMatchObject({ path: '/', type: 'ext4' });
  const docker = mountOf('/var/lib/docker/volumes', mountinfo);
  expect(docker).toMatchObject({ path: '/var/lib/docker', type: 'xfs' });
  expect(mountOf('/var/lib/docker-old', mountinfo)).toMatchObject({ type: 'btrfs' });
});

test('a database that does not answer is broken, and its password stays secret', async () => {
  const finding = await lookAtDatabase('postgresql://me:hunter2@127.0.0.1:1/app');
  expect(finding.state).toBe('broken');
  expect(JSON.stringify(finding)).not.toContain('hunter2');
  expect(withoutSecrets('postgresql://me:hunter2@db:5432/app')).toBe('db:5432/app');
  expect((await lookAtDatabase('')).state).toBe('ok');
});

test('a look that hangs or throws is a finding of its own', async () => {
  const hung = await check('kvm', 20, () => Promise.withResolvers<never>().promise);
  expect(hung).toMatchObject({ id: 'kvm', title: 'KVM', state: 'broken' });
  expect(hung.reason).toContain('20 ms');
  const thrown = await check('node', 1000, async () => Promise.reject(new Error('no')));
  expect(thrown).toMatchObject({ state: 'broken', reason: 'no' });
});

test('gVisor is usable when all it needs is there, reduced or not', () => {
  const found = (id: CheckId, state: CheckState): Check => ({
    id,
    title: id,
    state,
    reason: '',
    details: {},
  });
  const needed = ['docker', 'image', 'agent', 'database', 'node'] as const;
  const all = needed.map((id) => found(id, 'ok'));
  const usable = (runsc: CheckState): boolean | undefined =>
    isolationsOf([...all, found('runsc', runsc), found('kvm', 'broken')])[0]?.usable;
  expect(usable('ok')).toBe(true);
  expect(usable('reduced')).toBe(true);
  expect(usable('broken')).toBe(false);
  expect(usable('missing')).toBe(false);
});
