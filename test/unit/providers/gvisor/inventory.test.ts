import type Docker from 'dockerode';
import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { labels } from '../../../../src/providers/gvisor/container-spec.ts';
import type { DiskModes } from '../../../../src/providers/gvisor/disk/disk-modes.ts';
import { ForgottenSandboxes } from '../../../../src/providers/gvisor/disk/forgotten-sandboxes.ts';
import { run } from '../../../../src/host/run.ts';
import { LoopDisks } from '../../../../src/providers/gvisor/disk/loop-disks.ts';
import { WorkspaceDisks } from '../../../../src/providers/gvisor/disk/workspace-disks.ts';
import { listSandboxes } from '../../../../src/providers/gvisor/inventory.ts';
import { Volumes } from '../../../../src/providers/gvisor/volumes.ts';
import { recordLog } from '../../../support/log.ts';

const never = new AbortController().signal;

/** As dockerode reports a refusal of the engine. */
function refusal(statusCode: number): Error {
  return Object.assign(new Error('refused'), { statusCode, json: { message: 'refused' } });
}

const container = (workspace: string, state: string, created: number) => ({
  Id: `id-of-${workspace}`,
  Names: [`/box-${workspace}`],
  Labels: { [labels.workspace]: workspace },
  State: state,
  Created: created,
});
const volume = (workspace: string, createdAt: string, sandbox?: string) => ({
  Name: `volume-${workspace}`,
  Labels: {
    [labels.installation]: 'installation',
    [labels.workspace]: workspace,
    ...(sandbox !== undefined && { [labels.sandbox]: sandbox }),
  },
  CreatedAt: createdAt,
});

function engine(answers: {
  readonly containers?: unknown;
  readonly volumes?: unknown;
  readonly inspect?: () => Promise<unknown>;
}): Docker {
  const answer = (value: unknown): Promise<unknown> =>
    value instanceof Error ? Promise.reject(value) : Promise.resolve(value);
  const fake = {
    listContainers: vi.fn(() => answer(answers.containers ?? [])),
    listVolumes: vi.fn(() => answer(answers.volumes ?? { Volumes: null, Warnings: null })),
    getContainer: () => ({ inspect: answers.inspect ?? (() => answer(refusal(404))) }),
  };
  return fake as unknown as Docker;
}

/** On a host without disks. */
function list(docker: Docker): ReturnType<typeof listSandboxes> {
  const loops = new LoopDisks('/nowhere/disks', systemClock, run);
  const volumes = new Volumes(docker, 'installation');
  const forgotten = new ForgottenSandboxes({ docker, clock: systemClock, log: recordLog().log });
  const disks = new WorkspaceDisks({ volumes, loops, modes: {} as DiskModes, forgotten });
  const owner = { installationId: 'installation', provider: 'gvisor' };
  return listSandboxes(docker, disks, owner, never);
}

describe('listSandboxes', () => {
  test('joins containers and volumes; the oldest part tells the age', async () => {
    const containers = [container('a', 'running', 100), container('b', 'running', 300)];
    const volumes = [
      volume('a', '1970-01-01T00:02:00Z'),
      volume('b', '1970-01-01T00:02:00Z'),
      volume('c', '1970-01-01T00:03:00Z', 'box-c'),
    ];
    const found = await list(engine({ containers, volumes: { Volumes: volumes, Warnings: [] } }));
    const whole = { state: 'running', hasFiles: true };
    expect(found).toEqual([
      {
        ...whole,
        workspaceId: 'a',
        sandboxName: 'box-a',
        createdAt: new Date(100_000),
        parts: ['container box-a', 'volume volume-a'],
      },
      {
        ...whole,
        workspaceId: 'b',
        sandboxName: 'box-b',
        createdAt: new Date(120_000),
        parts: ['container box-b', 'volume volume-b'],
      },
      {
        workspaceId: 'c',
        sandboxName: 'box-c',
        state: 'stopped',
        hasFiles: true,
        createdAt: new Date(180_000),
        parts: ['volume volume-c'],
        reason: 'its container is gone',
      },
    ]);
  });

  test('one that is removed between the list and the look at it is not there', async () => {
    const docker = engine({ containers: [container('a', 'exited', 100)] });
    expect(await list(docker)).toEqual([]);
  });

  test('looks at a few at a time', async () => {
    let [now, most] = [0, 0];
    const containers = Array.from({ length: 40 }, (_, at) => container(String(at), 'exited', at));
    const inspect = async (): Promise<unknown> => {
      most = Math.max(most, ++now);
      await Promise.resolve();
      now--;
      return { State: { Status: 'created', Error: '' } };
    };
    const found = await list(engine({ containers, inspect }));
    expect(found).toHaveLength(40);
    expect(most).toBeLessThanOrEqual(8);
  });

  test.each([
    ['containers cannot be listed', { containers: refusal(500) }],
    ['volumes cannot be listed', { volumes: refusal(500) }],
    ['some volumes cannot be listed', { volumes: { Volumes: [], Warnings: ['a driver failed'] } }],
    [
      'one cannot be looked at',
      {
        containers: [container('a', 'exited', 100)],
        inspect: () => Promise.reject(refusal(500)),
      },
    ],
  ])('fails when %s', async (_what, answers) => {
    const listing = list(engine(answers));
    await expect(listing).rejects.toMatchObject({ code: 'provider_failed' });
  });
});
