import type { ContainerProfile } from '../../src/providers/gvisor/container-profile.ts';
import { volumeName } from '../../src/providers/gvisor/container-spec.ts';
import { systemClock } from '../../src/base/clock.ts';
import { Installation } from '../providers/gvisor/support/installation.ts';
import { providerConformance } from './provider.ts';

/** The suite over one way to run containers; without a profile, gVisor's of this host. */
export function containerConformance(name: string, profile?: ContainerProfile): void {
  providerConformance(name, async () => {
    const installation = await Installation.make(systemClock, profile ? { profile } : {});
    return {
      provider: installation.provider,
      image: installation.options.image,
      hasVolumes: true,
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
}
