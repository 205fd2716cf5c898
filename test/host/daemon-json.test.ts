import { expect, test } from 'vitest';

import { mergeDaemonJson } from '../../src/host/docker/daemon-json.ts';

const addRuntime = { name: 'runsc', path: '/opt/runsc', runtimeArgs: ['--overlay2=none'] };
const merged = (text: string, changes: Parameters<typeof mergeDaemonJson>[1]): unknown => {
  const result = mergeDaemonJson(text, changes);
  return result === undefined ? undefined : JSON.parse(result);
};

test('keeps every setting and runtime that is already there', () => {
  const text = JSON.stringify({
    'insecure-registries': ['a:5000'],
    runtimes: { nvidia: { path: '/usr/bin/nvidia', extra: 1 } },
    'log-opts': { 'max-size': '10m' },
  });
  expect(merged(text, { liveRestore: true, addRuntime })).toEqual({
    'insecure-registries': ['a:5000'],
    runtimes: {
      nvidia: { path: '/usr/bin/nvidia', extra: 1 },
      runsc: { path: '/opt/runsc', runtimeArgs: ['--overlay2=none'] },
    },
    'log-opts': { 'max-size': '10m' },
    'live-restore': true,
  });
});

test.each(['', '  \n', '{}'])('starts from an empty file: %j', (text) => {
  expect(merged(text, { liveRestore: true })).toEqual({ 'live-restore': true });
});

test('says nothing when the file already says it', () => {
  const once = mergeDaemonJson('', { liveRestore: true, addRuntime }) ?? '';
  expect(mergeDaemonJson(once, { liveRestore: true, addRuntime })).toBeUndefined();
});

test('leaves live-restore off where somebody turned it off', () => {
  expect(mergeDaemonJson('{"live-restore": false}', { liveRestore: true })).toBeUndefined();
});

test('takes back only its own runtime', () => {
  const text = mergeDaemonJson('{"runtimes":{"kata":{"path":"/k"}}}', { addRuntime }) ?? '';
  expect(merged(text, { removeRuntime: 'runsc' })).toEqual({ runtimes: { kata: { path: '/k' } } });
});

test.each(['{"runtimes": ', '// comment\n{}', '[]', '{"runtimes": "x"}', '42'])(
  'refuses what it does not understand: %s',
  (text) => {
    expect(() => mergeDaemonJson(text, { liveRestore: true })).toThrow();
  },
);
