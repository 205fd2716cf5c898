import { release } from 'node:os';

import { reasonOf } from '../../base/reason.ts';
import { isDesktop } from '../docker/engine.ts';
import type { Engine } from '../docker/engine.ts';
import { registeredRuntimes, runscVersion } from '../runsc/installed.ts';
import type { RegisteredRuntime } from '../runsc/installed.ts';
import { tryRuntime } from '../runsc/try-runtime.ts';
import type { RuntimeTrial } from '../runsc/try-runtime.ts';
import type { Finding } from './check.ts';

/** Starts a real container under every gVisor runtime of the engine until one runs. */
export async function lookAtRunsc(
  engine: Engine | undefined,
  signal: AbortSignal,
): Promise<Finding> {
  if (!engine) {
    return { state: 'missing', reason: 'needs the Docker engine', remedy: 'see Docker engine' };
  }
  const runtimes = registeredRuntimes(engine);
  if (runtimes.length === 0) return notRegistered(engine);
  const failures: string[] = [];
  for (const runtime of runtimes) {
    try {
      const trial = await tryRuntime(engine, runtime.name, signal);
      return runscFinding(runtime, trial, await versionOf(runtime, signal));
    } catch (error) {
      signal.throwIfAborted();
      failures.push(`${runtime.name}: ${reasonOf(error)}`);
    }
  }
  return startsNothing(failures, await engineStartsContainers(engine, signal));
}

export function runscFinding(
  runtime: RegisteredRuntime,
  trial: RuntimeTrial,
  version: string | undefined,
  hostKernel = release(),
): Finding {
  const details = { runtime: runtime.name, path: runtime.path, version, ...trial };
  if (trial.kernel === hostKernel) {
    return {
      state: 'broken',
      reason: `the runtime ${runtime.name} is not gVisor: its containers see this host's kernel`,
      remedy: `register a real runsc under the name ${runtime.name}`,
      details,
    };
  }
  const known = [version, trial.platform].filter((part) => typeof part === 'string').join(', ');
  if (trial.network === 'host') {
    return {
      state: 'reduced',
      reason: `runs a container (${known}), but its sockets use the host's TCP/IP stack`,
      remedy: 'install a current runsc (`npm start` does, where it can download one)',
      details,
    };
  }
  return { state: 'ok', reason: `runs a container (${known || trial.kernel})`, details };
}

function notRegistered(engine: Engine): Finding {
  return {
    state: 'missing',
    reason: 'gVisor runtime not available: the engine has no runtime named runsc',
    remedy: registerRemedy(engine),
  };
}

function registerRemedy(engine: Engine): string {
  if (engine.local) return '`npm start` installs and registers it';
  return isDesktop(engine.info)
    ? "Docker Desktop's virtual machine brings no runsc: use a Linux machine, or a Linux virtual machine with a " +
        'Docker Engine of its own, where `npm start` installs it'
    : "install gVisor's runsc on the engine's host and register it as the runtime runsc";
}

function startsNothing(failures: readonly string[], otherRuns: boolean): Finding {
  const reason = failures.join('; ');
  return otherRuns
    ? {
        state: 'broken',
        reason: `registered, but starts no container: ${reason}`,
        remedy: '`npm start` looks for a runsc that works with this kernel',
      }
    : {
        state: 'broken',
        reason: `the engine starts no container at all: ${reason}`,
        remedy: "see the engine's log (journalctl -u docker)",
      };
}

async function engineStartsContainers(engine: Engine, signal: AbortSignal): Promise<boolean> {
  return tryRuntime(engine, engine.info.DefaultRuntime ?? 'runc', signal).then(
    () => true,
    () => false,
  );
}

async function versionOf(
  runtime: RegisteredRuntime,
  signal: AbortSignal,
): Promise<string | undefined> {
  return runtime.path === undefined ? undefined : runscVersion(runtime.path, signal);
}
