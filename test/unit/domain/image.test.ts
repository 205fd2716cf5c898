import { expect, test } from 'vitest';
import { isBuiltBySetUp, parseImageReference } from '../../../src/domain/image.ts';

const digest = `sha256:${'a'.repeat(64)}`;

test.each([
  ['debian', 'debian', 'latest'],
  ['debian:12', 'debian', '12'],
  ['library/debian:12-slim', 'library/debian', '12-slim'],
  ['localhost:5000/a/b_c/d', 'localhost:5000/a/b_c/d', 'latest'],
  ['registry.example:443/a:1.0', 'registry.example:443/a', '1.0'],
  [`debian@${digest}`, 'debian', digest],
  [`registry.example/debian:12@${digest}`, 'registry.example/debian', digest],
])('%s', (text, repository, version) => {
  expect(parseImageReference(text)).toEqual({ repository, version });
});

test.each([
  '',
  'Debian',
  'a b',
  'a:',
  ':a',
  'a@sha256:1',
  '../a',
  'a//b',
  '-a',
  'a:b:c',
  'http://a',
])('"%s" is none', (text) => {
  expect(() => parseImageReference(text)).toThrow(
    expect.objectContaining({ code: 'invalid_value' }),
  );
});

test.each([
  ['emergent-workspace', true],
  ['emergent-workspace:abc', true],
  ['emergent-workspace-other', false],
  ['registry.example/emergent-workspace:abc', false],
])('%s is built by set-up: %s', (text, built) => {
  expect(isBuiltBySetUp(parseImageReference(text))).toBe(built);
});
