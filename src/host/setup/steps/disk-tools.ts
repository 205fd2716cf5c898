import { loopPrograms } from '../../probes/disk.ts';
import { findProgram } from '../../programs.ts';
import { aptInstall } from '../apt.ts';
import type { SetupContext } from '../context.ts';
import type { SetupStep } from '../step.ts';

/** Only for a server that runs as root: no other can mount a disk. */
export function diskTools(context: SetupContext): SetupStep {
  return {
    name: 'Disk tools',
    why: 'The disk limit of a workspace is held by a disk image of that size: it is formatted and mounted.',
    after: [],
    remedy:
      'sudo apt-get install e2fsprogs util-linux mount; without them the limit is only watched',
    async needed() {
      if (process.getuid?.() !== 0) return false;
      const missing = await missingPrograms();
      return missing.length === 0 ? false : `${missing.join(', ')} not found`;
    },
    async run(note, signal) {
      await aptInstall(['e2fsprogs', 'util-linux', 'mount'], context.root, note, signal);
    },
  };
}

async function missingPrograms(): Promise<readonly string[]> {
  const programs = Object.keys(loopPrograms);
  const found = await Promise.all(programs.map((program) => findProgram(program)));
  return programs.filter((_, at) => found[at] === undefined);
}
