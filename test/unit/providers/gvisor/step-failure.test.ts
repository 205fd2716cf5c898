import { describe, expect, test } from 'vitest';
import { runSteps } from '../../../../src/base/steps.ts';
import { EmergentError } from '../../../../src/domain/errors.ts';
import { stepFailure } from '../../../../src/providers/gvisor/step-failure.ts';
import { FakeClock } from '../../../support/clock.ts';

async function failureOf(why: Error): Promise<unknown> {
  const volume = {
    name: 'volume',
    run: async () => () => Promise.reject(new Error('volume in use')),
  };
  const container = { name: 'container', run: () => Promise.reject(why) };
  return runSteps([volume, container], new FakeClock()).catch(stepFailure);
}

describe('stepFailure', () => {
  test('a failed clean-up keeps the code of what failed first, and all reasons', async () => {
    const failure = await failureOf(new EmergentError('image_not_found', 'no image "x"'));
    expect(failure).toBeInstanceOf(EmergentError);
    expect(failure).toMatchObject({
      code: 'image_not_found',
      message: 'no image "x"; undoing failed: volume in use',
    });
  });

  test('what is no error of ours is a failure of the provider', async () => {
    expect(await failureOf(new Error('odd'))).toMatchObject({ code: 'provider_failed' });
  });

  test('a failure that was cleaned up passes unchanged', () => {
    const own = new EmergentError('image_not_found', 'no image');
    expect(stepFailure(own)).toBe(own);
  });
});
