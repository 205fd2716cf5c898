import { describe, expect, test } from 'vitest';
import { isRefName, parseRepository, withoutCredentials } from '../../../src/domain/repository.ts';

describe('a repository URL', () => {
  test.each([
    'https://example.com/a/b.git',
    'http://127.0.0.1:8080/b',
    'ssh://git@example.com:2222/b.git',
    'git://example.com/b',
    'file:///srv/b.git',
    'git@example.com:a/b.git',
  ])('%s is taken as it is', (url) => {
    expect(parseRepository(url, 'repository_url')).toEqual({ url });
  });

  test.each([
    ['https://me:p%40ss@example.com/b', { user: 'me', password: 'p@ss' }],
    ['https://token@example.com/b', { user: 'token', password: '' }],
    ['https://:only@example.com/b', { user: '', password: 'only' }],
  ])('%s: the secret is taken out', (text, credentials) => {
    expect(parseRepository(text, 'repository_url')).toEqual({
      url: 'https://example.com/b',
      credentials,
    });
  });

  test.each([
    '',
    'b',
    '/srv/b.git',
    './b',
    '-oProxyCommand=x',
    'https:example.com/b',
    'https://',
    'https://example.com',
    'https://example.com/',
    'https://example.com/b#f',
    'https://exa mple.com/b',
    'https://example.com/b\nc',
    'ext::sh -c touch% x',
    'ext::sh',
    'fd::17/x',
    'ftp://example.com/b',
    'file://host/b',
    'file://me@/b',
    'ssh://-oProxyCommand=x/b',
    'ssh://git:secret@example.com/b',
    'git://me@example.com/b',
    'git@-host:b',
    'git@host:-b',
    'https://s%zz:secret@example.com/b',
  ])('%j is refused, without being repeated', (text) => {
    const parse = (): unknown => parseRepository(text, 'repository_url');
    expect(parse).toThrow(expect.objectContaining({ code: 'invalid_value' }));
    expect(parse).toThrow(/^repository_url: (?!.*secret)/);
  });
});

test.each(['main', 'a/b', 'v1.2', 'ü', 'feature-x', 'a@b'])('%j names a branch', (name) => {
  expect(isRefName(name)).toBe(true);
});

test.each([
  ...['', '-b', '--upload-pack=x', '/a', 'a/', '.a', 'a/.b', 'a..b', 'a b', 'a\nb', 'a~1', 'a^'],
  ...['a:b', 'a?', 'a*', '[a', 'a\\b', 'a.lock', 'a.lock/b', 'a//b', 'a@{1}', '@', 'a.', '\0'],
  'a'.repeat(256),
])('%j names no branch', (name) => {
  expect(isRefName(name)).toBe(false);
});

test.each([
  ['fatal: https://me:pw@example.com/b: no', 'fatal: https://example.com/b: no'],
  ["'https://token@example.com/b'", "'https://example.com/b'"],
  ['https://example.com/b@c', 'https://example.com/b@c'],
  ['mail me@example.com', 'mail me@example.com'],
  ['HTTPS://ME:PW@X/ http://a:b@c/', 'HTTPS://X/ http://c/'],
])('%s without credentials', (text, cleaned) => {
  expect(withoutCredentials(text)).toBe(cleaned);
});
