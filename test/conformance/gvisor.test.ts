import { randomBytes, randomUUID } from 'node:crypto';
import { systemClock } from '../../src/base/clock.ts';
import { GvisorProvider } from '../../src/providers/gvisor/provider.ts';
import { testHost } from '../support/host.ts';
import { recordLog } from '../support/log.ts';
import { providerConformance } from './provider.ts';

providerConformance('gvisor', async () => {
  const host = await testHost();
  return {
    provider: new GvisorProvider({
      image: host.image,
      agentPaths: host.agentPaths,
      runtime: host.runtime.state === 'present' ? host.runtime.name : 'runsc',
      dockerHost: process.env['DOCKER_HOST'],
      installationId: randomUUID(),
      key: randomBytes(32),
      nameservers: [],
      clock: systemClock,
      log: recordLog().log,
    }),
    image: host.image,
  };
});
