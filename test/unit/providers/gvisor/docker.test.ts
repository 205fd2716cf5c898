import { afterEach, describe, expect, test, vi } from 'vitest';
import { DeadlineError } from '../../../../src/base/deadline.ts';
import { EmergentError } from '../../../../src/domain/errors.ts';
import {
  dockerClient,
  engineCall,
  engineRemedy,
  engineStatus,
} from '../../../../src/providers/gvisor/docker.ts';

/** As dockerode reports a refusal of the engine. */
function refusal(statusCode: number, message: string): Error {
  const text = `(HTTP code ${String(statusCode)}) reason - ${message}`;
  return Object.assign(new Error(text), { statusCode, json: { message } });
}

function failing(error: unknown): Promise<unknown> {
  return engineCall('creating the volume', 1000, () => Promise.reject(error as Error)).catch(
    (failure: unknown) => failure,
  );
}

describe('engineCall', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test.each([
    ...['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE', 'EACCES', 'ENOTFOUND', 'ETIMEDOUT'],
    ...['EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'],
  ])('%s is an engine that cannot be reached', async (code) => {
    const cause = Object.assign(new Error(`connect ${code}`), { code });
    expect(await failing(cause)).toMatchObject({
      code: 'provider_unavailable',
      message: `Docker engine unreachable: connect ${code}`,
      hint: engineRemedy,
      cause,
    });
  });

  test.each([400, 404, 409, 500])('a refusal with %d is a failure in its words', async (status) => {
    const failure = await failing(refusal(status, 'no such thing'));
    expect(failure).toMatchObject({
      code: 'provider_failed',
      message: 'creating the volume: no such thing',
    });
    expect(engineStatus(failure)).toBe(status);
  });

  test('a refusal whose body is not JSON keeps its message', async () => {
    const error = Object.assign(new Error('bad gateway'), { statusCode: 502, json: null });
    const failure = await failing(error);
    expect(failure).toMatchObject({ message: 'creating the volume: bad gateway' });
  });

  test('an error that has a code but came with an answer is no broken connection', async () => {
    const error = Object.assign(refusal(500, 'disk'), { code: 'ENOENT' });
    expect(await failing(error)).toMatchObject({ code: 'provider_failed' });
  });

  test('our own errors pass unchanged', async () => {
    const own = new EmergentError('image_not_found', 'no image');
    expect(await failing(own)).toBe(own);
  });

  test('an engine that hangs ends by the deadline, which names the call', async () => {
    vi.useFakeTimers();
    const signals: AbortSignal[] = [];
    const call = engineCall('creating the volume', 1000, (signal) => {
      signals.push(signal);
      return new Promise(() => undefined);
    });
    const failed = expect(call).rejects.toEqual(
      new DeadlineError('the Docker engine, creating the volume,', 1000),
    );
    await vi.advanceTimersByTimeAsync(1000);
    await failed;
    expect(signals[0]?.aborted).toBe(true);
  });

  test("a caller's abort ends the call with its reason", async () => {
    const gone = new EmergentError('client_closed', 'gone');
    const hanging = (): Promise<never> => new Promise(() => undefined);
    const call = engineCall('creating the volume', 1000, hanging, AbortSignal.abort(gone));
    await expect(call).rejects.toBe(gone);
  });
});

describe('engineStatus', () => {
  test.each([
    ['nothing thrown', undefined],
    ['a text', 'HTTP 404'],
    ['an error without one', new Error('x')],
    ['one that is no number', Object.assign(new Error('x'), { statusCode: '404' })],
  ])('%s has none', (_what, error) => {
    expect(engineStatus(error)).toBeUndefined();
  });

  test('is found behind our own errors', () => {
    const inner = new EmergentError('provider_failed', 'x', { cause: refusal(409, 'busy') });
    expect(engineStatus(new EmergentError('internal', 'y', { cause: inner }))).toBe(409);
  });
});

describe('dockerClient', () => {
  test.each([
    [undefined, { socketPath: '/var/run/docker.sock' }],
    ['unix:///run/user/1/docker.sock', { socketPath: '/run/user/1/docker.sock' }],
    ['tcp://engine', { protocol: 'http', host: 'engine', port: 2375 }],
    ['tcp://engine:1234', { protocol: 'http', host: 'engine', port: 1234 }],
    ['http://engine:80', { protocol: 'http', host: 'engine', port: 80 }],
    ['https://engine:2376', { protocol: 'https', host: 'engine', port: 2376 }],
    ['https://engine', { protocol: 'https', host: 'engine', port: 443 }],
    ['tcp://[::1]:2375', { protocol: 'http', host: '::1', port: 2375 }],
  ])('DOCKER_HOST=%s', (dockerHost, expected) => {
    expect(dockerClient(dockerHost).modem).toMatchObject(expected);
  });
});
