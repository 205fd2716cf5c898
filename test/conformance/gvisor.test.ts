import { volumeName } from '../../src/providers/gvisor/container-spec.ts';
import { Installation } from '../providers/gvisor/support/installation.ts';
import { providerConformance } from './provider.ts';

providerConformance('gvisor', async () => {
  const installation = await Installation.make();
  return {
    provider: installation.provider,
    image: installation.options.image,
    parts: ({ workspaceId, sandboxName }) => [
      `container ${sandboxName}`,
      `volume ${volumeName(workspaceId)}`,
    ],
    loseFiles: async (ref) => {
      await installation.removeContainer(ref);
      await installation.removeVolume(ref);
    },
    loseAllButFiles: (ref) => installation.removeContainer(ref),
    restarted: () => installation.restarted(),
  };
});
