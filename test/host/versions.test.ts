import { expect, test } from 'vitest';

import { goDirective, parseGoVersion } from '../../src/host/go/find.ts';
import { parseRunscVersion } from '../../src/host/runsc/installed.ts';
import { atLeast, compareVersions } from '../../src/host/version.ts';

test.each([
  ['1.26.7', '1.24.0', 1],
  ['1.9', '1.24', -1],
  ['go1.26', 'go1.26.0', 0],
  ['20.10.24+dfsg1', '20.10.24', 0],
  ['v24.1.0', '24', 1],
])('%s against %s', (left, right, sign) => {
  expect(Math.sign(compareVersions(left, right))).toBe(sign);
});

test('what has no version is never new enough', () => {
  expect(atLeast('unknown', '1')).toBe(false);
  expect(atLeast('1.26.8', '1.26.3')).toBe(true);
});

test('reads what the tools print', () => {
  expect(parseGoVersion('go version go1.26.8 linux/amd64')).toBe('1.26.8');
  expect(parseGoVersion('go version go1.24 linux/arm64')).toBe('1.24');
  expect(goDirective('module x\n\ngo 1.24.0\n\ntoolchain go1.26.7\n')).toBe('1.24.0');
  expect(() => goDirective('module x\n')).toThrow('names no Go version');
  expect(parseRunscVersion('runsc version release-20260622.0\nspec: 1.2.1\n')).toBe(
    'release-20260622.0',
  );
});
