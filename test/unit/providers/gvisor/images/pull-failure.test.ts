import { expect, test } from 'vitest';
import { DeadlineError } from '../../../../../src/base/deadline.ts';
import { EmergentError } from '../../../../../src/domain/errors.ts';
import { pullFailure } from '../../../../../src/providers/gvisor/images/pull-failure.ts';

/** What engines say, from 20.10 to 28. */
test.each([
  ['image_not_found', 'manifest for debian:99 not found: manifest unknown: manifest unknown'],
  ['image_not_found', 'manifest unknown'],
  ['image_not_found', 'docker.io/library/debian:99: not found'],
  [
    'image_access_denied',
    "pull access denied for me/private, repository does not exist or may require 'docker login': denied: requested access to the resource is denied",
  ],
  [
    'image_access_denied',
    'Head "https://registry.example/v2/a/manifests/1": unauthorized: authentication required',
  ],
  ['image_access_denied', 'Get "https://registry.example/v2/": no basic auth credentials'],
  ['image_unsuitable', 'no matching manifest for linux/amd64 in the manifest list entries'],
  ['registry_unavailable', 'Get "https://registry.example/v2/": dial tcp: lookup x: no such host'],
  ['registry_unavailable', 'dial tcp 127.0.0.1:1: connect: connection refused'],
  [
    'registry_unavailable',
    'Get "https://registry.example/v2/": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)',
  ],
  ['registry_unavailable', 'x509: certificate signed by unknown authority'],
  ['registry_unavailable', 'toomanyrequests: You have reached your pull rate limit'],
  ['registry_unavailable', 'received unexpected HTTP status: 503 Service Unavailable'],
  ['registry_unavailable', 'unexpected EOF'],
  ['disk_full', 'write /var/lib/docker/tmp/x: no space left on device'],
  ['provider_failed', 'something that nobody has seen'],
] as const)('%s: %s', (code, said) => {
  const failure = pullFailure('an/image:1', new Error(said));
  expect(failure.code).toBe(code);
  expect(failure.message).toContain('the image "an/image:1"');
  expect(failure.message).toContain(said);
});

test("the client's wrapping is left out", () => {
  const wrapped = new EmergentError('provider_failed', 'pulling: …', {
    cause: new Error('(HTTP code 404) unexpected - manifest unknown '),
  });
  expect(pullFailure('a', wrapped).message).toBe(
    'the image "a" is neither on the Docker engine nor in the registry: manifest unknown',
  );
});

test('a pull without progress and an engine that is away say so themselves', () => {
  const stalled = new DeadlineError('pulling the image "a"', 60_000, 'made no progress for');
  expect(pullFailure('a', stalled)).toMatchObject({
    code: 'registry_unavailable',
    message: 'pulling the image "a" made no progress for 60000 ms',
  });
  const away = new EmergentError('provider_unavailable', 'Docker engine unreachable');
  expect(pullFailure('a', away)).toBe(away);
});
