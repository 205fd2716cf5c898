import { readFile } from 'node:fs/promises';

import { systemClock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/deadline.ts';
import { mergeDaemonJson } from '../../docker/daemon-json.ts';
import { configFileOf, findDaemon, readConfig, reconfigure } from '../../docker/daemon.ts';
import { enginePidFiles, stalePidFiles } from '../../docker/pid-files.ts';
import { pidsNamed } from '../../processes.ts';
import { findProgram } from '../../programs.ts';
import { lastLines, run } from '../../run.ts';
import { aptInstall } from '../apt.ts';
import type { SetupContext } from '../context.ts';
import { SetupError } from '../step.ts';
import type { Note, SetupStep } from '../step.ts';

export const dockerName = 'Docker engine';
const startMs = 60_000;
const maxWaitMs = 1_000;
const logFile = '/var/log/emergent-dockerd.log';

export function dockerEngine(context: SetupContext): SetupStep {
  return {
    name: dockerName,
    why: 'Workspaces are containers of a Docker engine.',
    after: [],
    remedy: 'sudo apt-get install docker.io iptables && sudo systemctl start docker',
    async needed(signal) {
      const look = await context.lookAtEngine(signal);
      return look.engine ? false : look.reason;
    },
    async run(note, signal) {
      const look = await context.lookAtEngine(signal);
      if (look.engine) return;
      const given = process.env['DOCKER_HOST'] ?? '';
      if (look.why === 'denied' || look.why === 'broken' || given !== '') {
        throw new SetupError(look.reason, look.remedy);
      }
      if (look.why === 'absent')
        await aptInstall(['docker.io', 'iptables'], context.root, note, signal);
      await start(context, note, signal);
    },
  };
}

async function start(context: SetupContext, note: Note, signal: AbortSignal): Promise<void> {
  await keepContainersThroughRestarts(context, signal);
  const systemd = await run(['test', '-d', '/run/systemd/system'], { timeoutMs: 5_000 });
  note('starting the engine');
  if (systemd.ok) {
    await context.root.run(['systemctl', 'start', 'docker'], { timeoutMs: startMs, signal });
  } else {
    await startDaemon(context, signal);
  }
  try {
    await withDeadline(
      'the start of the engine',
      startMs,
      (waiting) => untilItAnswers(context, waiting),
      signal,
    );
  } catch (error) {
    signal.throwIfAborted();
    const log = await readFile(logFile, 'utf8').catch(() => '');
    throw new SetupError(
      `the engine was started, but does not answer: ${lastLines(log, 2)}`,
      systemd.ok ? 'see journalctl -u docker' : `see ${logFile}`,
      { cause: error },
    );
  }
}

/** Without an init system: a session of its own, so that it outlives us and our terminal. */
async function startDaemon(context: SetupContext, signal: AbortSignal): Promise<void> {
  const stale = await stalePidFiles(enginePidFiles);
  if (stale.length > 0) {
    await context.root.run(['rm', '-f', ...stale], { timeoutMs: 5_000, signal });
  }
  const dockerd = (await findProgram('dockerd')) ?? 'dockerd';
  const script = 'PATH="$PATH:/usr/sbin:/sbin" setsid -f "$1" >>"$2" 2>&1 </dev/null';
  await context.root.run(['sh', '-c', script, 'sh', dockerd, logFile], {
    timeoutMs: 10_000,
    signal,
  });
}

async function untilItAnswers(context: SetupContext, signal: AbortSignal): Promise<void> {
  let wait = 50;
  for (;;) {
    const look = await context.lookAtEngine(signal);
    if (look.engine) return;
    if (look.why === 'denied') throw new SetupError(look.reason, look.remedy);
    await systemClock.sleep(wait, signal);
    if (wait === maxWaitMs && (await pidsNamed('dockerd')).length === 0) {
      throw new Error('the engine ended by itself');
    }
    wait = Math.min(wait * 2, maxWaitMs);
  }
}

async function keepContainersThroughRestarts(
  context: SetupContext,
  signal: AbortSignal,
): Promise<void> {
  const path = configFileOf(undefined);
  const merged = mergeDaemonJson(await readConfig(path), { liveRestore: true });
  if (merged !== undefined) await context.root.writeFile(path, merged, signal);
}

/** Only on an engine of this machine whose configuration we can change; never against its owner's word. */
export function dockerSettings(context: SetupContext): SetupStep {
  return {
    name: 'Docker settings',
    why: 'With live-restore, workspaces survive a restart of the engine.',
    after: [dockerName],
    remedy: '"live-restore": true in /etc/docker/daemon.json',
    async needed() {
      const { info, local } = context.engine;
      const swarm = info.Swarm?.LocalNodeState === 'active';
      if (!local || swarm || info.LiveRestoreEnabled || context.root.kind === 'none') return false;
      const daemon = await findDaemon(context.engine.endpoint);
      if (!daemon || daemon.arguments.some((argument) => argument.startsWith('--live-restore')))
        return false;
      const text = await readConfig(daemon.configFile);
      return mergeDaemonJson(text, { liveRestore: true }) === undefined
        ? false
        : 'live-restore is off';
    },
    async run(_note, signal) {
      await reconfigure(
        context.engine,
        { liveRestore: true },
        (info) => info.LiveRestoreEnabled === true,
        context.root,
        signal,
      );
    },
  };
}
