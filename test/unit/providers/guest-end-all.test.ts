import { Code, ConnectError, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from 'vitest';
import { Agent } from '../../../src/providers/guest/gen/emergent/agent/v1/agent_pb.ts';
import type { GuestLink } from '../../../src/providers/guest/link.ts';
import { OpenReaders } from '../../../src/providers/guest/open-readers.ts';
import { endAll } from '../../../src/providers/guest/terminate.ts';
import { openTunnel } from '../../../src/providers/guest/tunnel.ts';

const never = new AbortController().signal;

/** As an agent of an earlier version answers. */
const older = createRouterTransport(({ rpc }) => {
  const unknown = (): never => {
    throw new ConnectError('no such call', Code.Unimplemented);
  };
  rpc(Agent.method.endAll, unknown);
  rpc(Agent.method.tunnel, unknown);
});

test('an agent of an earlier version cannot end everything and go on, nor open tunnels', async () => {
  const link = { reach: async () => undefined } as unknown as GuestLink;
  const parts = { link, transport: older, readers: new OpenReaders() };
  await expect(endAll(parts, 10, never)).rejects.toMatchObject({ code: 'unsupported' });
  await expect(openTunnel(older, 80, never)).rejects.toMatchObject({ code: 'unsupported' });
});
