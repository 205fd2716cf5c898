import type Docker from 'dockerode';
import { describe, expect, test } from 'vitest';
import { containerState } from '../../../../src/providers/gvisor/container-state.ts';

const exited: Docker.ContainerInspectInfo['State'] = {
  Status: 'exited',
  Running: false,
  Paused: false,
  Restarting: false,
  OOMKilled: false,
  Dead: false,
  Pid: 0,
  ExitCode: 137,
  Error: '',
  StartedAt: '2030-01-01T00:00:00.123456789Z',
  FinishedAt: '2030-01-02T03:04:05.123456789Z',
};

describe('containerState', () => {
  test.each([
    ['running', { Status: 'running', Running: true }, false],
    ['paused', { Status: 'paused', Running: true, Paused: true }, true],
    ['about to run again', { Status: 'restarting', Restarting: true }, false],
  ])('one that is %s runs', (_how, change, paused) => {
    const state = containerState({ ...exited, ...change });
    expect(state).toEqual({ running: true, paused, end: undefined });
  });

  test.each([
    ['exited', {}, 'exited with code 137 at 2030-01-02T03:04:05.123Z'],
    [
      'killed for its memory',
      { OOMKilled: true },
      'exited with code 137, out of memory, at 2030-01-02T03:04:05.123Z',
    ],
    ['never started', { Status: 'created', ExitCode: 0 }, 'was never started'],
    [
      'refused by the runtime',
      { Status: 'created', ExitCode: 127, Error: 'no such program' },
      'could not be started: no such program',
    ],
    [
      'ended with a word of the engine',
      { ExitCode: 128, Error: 'network gone' },
      'exited with code 128 at 2030-01-02T03:04:05.123Z (network gone)',
    ],
    ['ended at no time', { FinishedAt: '' }, 'exited with code 137 at '],
  ])('one that %s says so', (_how, change, end) => {
    const state = containerState({ ...exited, ...change });
    expect(state).toEqual({ running: false, paused: false, end });
  });
});
