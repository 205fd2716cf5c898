import { describe, expect, test } from 'vitest';
import { volumePathProblem, volumePathsProblem } from '../../../src/domain/volume-path.ts';

describe('volumePathProblem', () => {
  test.each(['/data', '/var/lib/some where', '/workspaces', '/tmp/kept', '/...', '/dév'])(
    '%s can be a volume',
    (path) => {
      expect(volumePathProblem(path)).toBeUndefined();
    },
  );

  test.each([
    ['', 'not an absolute path'],
    ['data', 'not an absolute path'],
    ['/', 'the whole sandbox'],
    ['/data/', 'shortest form'],
    ['/a//b', 'shortest form'],
    ['/a/./b', 'shortest form'],
    ['/a/../workspace', 'shortest form'],
    ['/workspace', '/workspace is kept anyway'],
    ['/workspace/inside', '/workspace is kept anyway'],
    ['/proc', '/proc belongs to the system'],
    ['/sys/fs', '/sys belongs to the system'],
    ['/dev/shm', '/dev belongs to the system'],
    ['/.emergent', 'belongs to the sandbox itself'],
    ['/tmp', 'cleared by every start'],
    ['/a\nb', 'control characters'],
    ['/a\u0000', 'control characters'],
    [`/${'x'.repeat(255)}`, 'at most 255'],
  ])('%j cannot: %s', (path, why) => {
    expect(volumePathProblem(path)).toContain(why);
  });
});

describe('volumePathsProblem', () => {
  test('none, one and several apart are fine', () => {
    for (const paths of [[], ['/a'], ['/a', '/b', '/ab', '/a b']]) {
      expect(volumePathsProblem(paths)).toBeUndefined();
    }
  });

  test.each([
    [['/a', '/a'], '"/a" is given twice'],
    [['/a', '/a/b'], '"/a/b" lies inside "/a"'],
    [['/a/b', '/a'], '"/a/b" lies inside "/a"'],
    [['/a', '/'], '"/" is the whole sandbox'],
  ])('%j: %s', (paths, why) => {
    expect(volumePathsProblem(paths)).toBe(why);
  });
});
