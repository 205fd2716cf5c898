import { Code, ConnectError, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from 'vitest';
import { guestAdopt } from '../../../src/providers/guest/adopt.ts';
import { Agent } from '../../../src/providers/guest/gen/emergent/agent/v1/agent_pb.ts';

const never = new AbortController().signal;

test('an agent of a version that takes no environment is told from one that fails', async () => {
  const earlier = createRouterTransport(({ service }) => {
    service(Agent, {});
  });
  await expect(guestAdopt(earlier, {}, never)).rejects.toMatchObject({ code: 'unsupported' });
  const stopping = createRouterTransport(({ service }) => {
    service(Agent, {
      adopt: () => {
        throw new ConnectError('the sandbox is being stopped', Code.Aborted);
      },
    });
  });
  await expect(guestAdopt(stopping, {}, never)).rejects.toMatchObject({ code: 'interrupted' });
});
