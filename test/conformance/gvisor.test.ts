import { volumeName } from '../../src/providers/gvisor/container-spec.ts';
import { Installation } from '../providers/gvisor/support/installation.ts';
import { providerConformance } from './provider.ts';

providerConformance('gvisor', async () => {
  const installation = await Installation.make();
  return {
    provider: installation.provider,
    image: installation.options.image,
    parts: (ref) => [
      `container ${ref.sandboxName}`,
      `volume ${volumeName(ref.workspaceId)}`,
      ...installation.diskParts(ref),
    ],
    loseFiles: async (ref) => {
      await installation.removeContainer(ref);
      await installation.removeFiles(ref);
    },
    loseAllButFiles: (ref) => installation.removeContainer(ref),
    restarted: () => installation.restarted(),
    close: () => installation[Symbol.asyncDispose](),
  };
});
