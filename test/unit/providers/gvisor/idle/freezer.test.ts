import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type Docker from 'dockerode';
import { describe, expect, test, vi } from 'vitest';
import { containerFreezer } from '../../../../../src/providers/gvisor/idle/container-freezer.ts';
import { SentryFreezer } from '../../../../../src/providers/gvisor/idle/freezer.ts';
import { SandboxFreezers } from '../../../../../src/providers/gvisor/idle/sandbox-freezers.ts';
import { FakeClock } from '../../../../support/clock.ts';
import { eventually } from '../../../../support/eventually.ts';

const never = new AbortController().signal;

/** A process of the host, told to stop and go on. */
async function setUp() {
  const child = spawn('cat', { stdio: ['pipe', 'pipe', 'ignore'] });
  const { pid } = child;
  const freezer = pid === undefined ? undefined : SentryFreezer.of(pid);
  if (pid === undefined || !freezer) throw new Error('cat did not start');
  return {
    ...{ child, pid, freezer },
    end: async (): Promise<void> => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    shown: async (): Promise<string | undefined> =>
      /^State:\t(.)/m.exec(await readFile(`/proc/${String(pid)}/status`, 'utf8'))?.[1],
  };
}

describe('SentryFreezer', () => {
  test('stops a process and lets it go on', async () => {
    const { child, freezer, shown, end } = await setUp();
    expect(freezer.state()).toBe('thawed');
    expect(freezer.freeze()).toBe(true);
    await eventually(async () => {
      expect(await shown()).toBe('T');
    });
    expect(freezer.state()).toBe('frozen');
    expect(freezer.thaw()).toBe(true);
    child.stdin.write('on');
    expect(String((await once(child.stdout, 'data'))[0])).toBe('on');
    expect(freezer.state()).toBe('thawed');
    await end();
  });

  test('takes back an order that does not show yet', async () => {
    const { child, freezer, end } = await setUp();
    for (let round = 0; round < 100; round += 1) {
      freezer.freeze();
      freezer.thaw();
    }
    child.stdin.write('on');
    expect(String((await once(child.stdout, 'data'))[0])).toBe('on');
    await end();
  });

  test('knows that the process has ended', async () => {
    const { freezer, pid, end } = await setUp();
    await end();
    expect([freezer.state(), freezer.freeze(), freezer.thaw()]).toEqual(['gone', false, false]);
    expect(SentryFreezer.of(pid)).toBeUndefined();
  });
});

describe('containerFreezer', () => {
  test('is absent for a container of another host', async () => {
    expect(await containerFreezer('0'.repeat(64))).toEqual({
      state: 'absent',
      why: 'the containers of the engine do not run on this host',
    });
  });
});

describe('SandboxFreezers', () => {
  const setUpEngine = (containers: unknown, info: unknown = {}) => {
    const docker = { listContainers: vi.fn(async () => containers), info: vi.fn(async () => info) };
    const clock = new FakeClock();
    const freezers = new SandboxFreezers(docker as unknown as Docker, clock);
    return { docker, clock, freezers };
  };
  const ref = { workspaceId: 'w', sandboxName: 'box' };

  test('finds nothing for a name that is only part of one', async () => {
    const { freezers } = setUpEngine([{ Id: '0'.repeat(64), Names: ['/box-of-another'] }]);
    expect(await freezers.find(ref)).toBeUndefined();
  });

  test('takes no answer for an id that is none', async () => {
    const { freezers } = setUpEngine([{ Id: '../..', Names: ['/box'] }]);
    expect(await freezers.find(ref)).toBeUndefined();
  });

  test('refuses an engine that stops its containers with itself; asked once a minute', async () => {
    const { freezers, docker, clock } = setUpEngine([], { LiveRestoreEnabled: false });
    expect(await freezers.refusal(never)).toContain('live-restore');
    docker.info.mockResolvedValue({ LiveRestoreEnabled: true });
    expect(await freezers.refusal(never)).toContain('live-restore');
    await clock.advance(60_000);
    expect(await freezers.refusal(never)).toBeUndefined();
    expect(docker.info).toHaveBeenCalledTimes(2);
  });
});
