import { buildAgent, findAgent } from '../../agent/build.ts';
import { requiredGo } from '../../go/find.ts';
import { installGo } from '../../go/install.ts';
import type { SetupContext } from '../context.ts';
import type { SetupStep } from '../step.ts';

const goName = 'Go toolchain';

export function goToolchain(context: SetupContext): SetupStep {
  return {
    name: goName,
    why: 'It compiles the agent that runs inside every workspace.',
    after: [],
    remedy: 'install a current Go and put it on the PATH',
    async needed(signal) {
      if (await context.findGo(signal)) return false;
      return `no Go from ${await requiredGo()} was found`;
    },
    async run(note, signal) {
      await installGo(context.root, note, signal);
    },
  };
}

export function guestAgent(context: SetupContext): SetupStep {
  return {
    name: 'Guest agent',
    why: 'It starts commands and moves files inside a workspace.',
    after: [goName],
    remedy: 'see the reason; guest/build.sh builds it by hand',
    async needed(signal) {
      const go = await context.findGo(signal);
      return go && (await findAgent(go)) ? false : 'not built from these sources yet';
    },
    async run(note, signal) {
      await buildAgent(await context.go(signal), note, signal);
    },
  };
}
