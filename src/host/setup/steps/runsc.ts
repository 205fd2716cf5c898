import { reasonOf } from '../../../base/reason.ts';
import { reconfigure } from '../../docker/daemon.ts';
import type { EngineInfo } from '../../docker/engine.ts';
import { registeredRuntimes } from '../../runsc/installed.ts';
import { tryRuntimeOnce } from '../../runsc/kept-trial.ts';
import type { TriedRuntime } from '../../runsc/kept-trial.ts';
import { runscWays } from '../../runsc/obtain.ts';
import type { RunscCandidate } from '../../runsc/obtain.ts';
import type { SetupContext } from '../context.ts';
import { SetupError } from '../step.ts';
import type { Note, SetupStep } from '../step.ts';
import { dockerName } from './docker.ts';

const manual = 'https://gvisor.dev/docs/user_guide/install/ tells how to install runsc for Docker';

/** A runsc that really runs containers on this kernel, registered with the engine. */
export function gvisorRuntime(context: SetupContext): SetupStep {
  return {
    name: 'gVisor (runsc)',
    why: "gVisor gives every workspace a kernel of its own, apart from the host's.",
    after: [dockerName],
    remedy: manual,
    async needed(signal) {
      const failures: string[] = [];
      for (const runtime of registeredRuntimes(context.engine)) {
        try {
          context.runtime = await tryRuntimeOnce(context.engine, runtime, signal);
          return false;
        } catch (error) {
          signal.throwIfAborted();
          failures.push(`${runtime.name} starts no container: ${reasonOf(error)}`);
        }
      }
      return failures.length === 0 ? 'the engine has no runtime runsc' : failures.join('; ');
    },
    async run(note, signal) {
      if (!context.engine.local) {
        throw new SetupError(
          'the engine is not on this machine, so its runtimes are not changed',
          "install runsc on the engine's host and register it as the runtime runsc",
        );
      }
      context.runtime = await firstThatRuns(context, note, signal);
    },
  };
}

async function firstThatRuns(
  context: SetupContext,
  note: Note,
  signal: AbortSignal,
): Promise<TriedRuntime> {
  // A broken runtime under the usual name is somebody's own: ours goes beside it.
  const taken = context.engine.info.Runtimes?.['runsc'] !== undefined;
  const name = taken ? 'runsc-emergent' : 'runsc';
  const failures: string[] = [];
  for (const way of runscWays) {
    try {
      const candidate = await way.obtain(context.root, note, signal);
      return await registerAndTry(context, name, candidate, note, signal);
    } catch (error) {
      signal.throwIfAborted();
      failures.push(`${way.name}: ${reasonOf(error)}`);
      note(failures.at(-1) ?? '');
    }
  }
  throw new SetupError(`no runsc works here:\n    ${failures.join('\n    ')}`, manual);
}

async function registerAndTry(
  context: SetupContext,
  name: string,
  candidate: RunscCandidate,
  note: Note,
  signal: AbortSignal,
): Promise<TriedRuntime> {
  const { path, arguments: runtimeArgs } = candidate;
  const addRuntime = { name, path, runtimeArgs };
  const shown = (info: EngineInfo): boolean => info.Runtimes?.[name]?.path === path;
  try {
    note(`registering ${path} and starting a container under it`);
    await reconfigure(context.engine, { addRuntime }, shown, context.root, signal);
    await context.lookAtEngine(signal);
    return await tryRuntimeOnce(context.engine, { name, path, arguments: runtimeArgs }, signal);
  } catch (error) {
    const gone = (info: EngineInfo): boolean => info.Runtimes?.[name] === undefined;
    const cleaning = AbortSignal.timeout(20_000);
    await reconfigure(context.engine, { removeRuntime: name }, gone, context.root, cleaning).catch(
      (failure: unknown) => {
        note(`the runtime ${name} stays registered: ${reasonOf(failure)}`);
      },
    );
    throw error;
  }
}
