import type Docker from 'dockerode';
import type { ProviderHealth } from '../../domain/provider.ts';
import type { ContainerProfile } from './container-profile.ts';
import { engineCall, engineRemedy, engineStatus } from './docker.ts';
import { desktopOf, engineState } from './engine-info.ts';
import type { EngineInfo } from './engine-info.ts';
import type { RuntimeTrials } from './runtime-trials.ts';

const callMs = 4_000;

export interface HealthOptions {
  readonly docker: Docker;
  readonly runtime: RuntimeTrials;
  readonly profile: ContainerProfile;
  readonly image: string;
}

/**
 * The health of one way to run containers. Not allowed, engine unreachable, Windows containers, runtime missing,
 * runtime broken, image missing and healthy are different answers, each with its own remedy.
 */
export class ContainerHealth {
  readonly #options: HealthOptions;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  async check(signal: AbortSignal): Promise<ProviderHealth> {
    const { docker, runtime, profile, image } = this.#options;
    if (profile.refusal) return { state: 'absent', ...profile.refusal, details: {} };
    const engine = await engineState(docker, signal);
    if (engine.state === 'down') return unhealthy(engine.reason, engineRemedy, {});
    const { info } = engine;
    const details = factsOf(info, profile);
    const obstacle = obstacleOf(info, profile);
    if (obstacle) return unhealthy(obstacle.reason, obstacle.remedy, details);
    const trial = await runtime.try(info, signal);
    if (trial.state === 'broken') {
      return unhealthy(`${notAvailable(profile)}: ${trial.reason}`, brokenRemedy(info), details);
    }
    if (!(await this.#hasImage(image, signal))) {
      return unhealthy(
        `the workspace image ${image} is not on the Docker engine`,
        'Run `emergent serve` without EMERGENT_SKIP_SETUP once: its set-up builds it.',
        details,
      );
    }
    return { state: 'healthy', details: { ...details, ...trial.facts } };
  }

  async #hasImage(image: string, signal: AbortSignal): Promise<boolean> {
    const { docker } = this.#options;
    try {
      await engineCall(
        'looking for an image',
        callMs,
        () => docker.getImage(image).inspect(),
        signal,
      );
      return true;
    } catch (error) {
      if (engineStatus(error) === 404) return false;
      throw error;
    }
  }
}

interface Obstacle {
  readonly reason: string;
  readonly remedy: string;
}

/** What the engine's description alone rules out. */
function obstacleOf(info: EngineInfo, { runtime }: ContainerProfile): Obstacle | undefined {
  if (info.osType === 'windows') {
    return {
      reason: 'the Docker engine runs Windows containers; workspaces are Linux containers',
      remedy: 'In Docker Desktop choose "Switch to Linux containers...", then try again.',
    };
  }
  if (runtime === undefined || info.runtimes.has(runtime)) return undefined;
  return {
    reason: `${gvisorMissing}: "${runtime}" is not registered with the Docker engine`,
    remedy: missingRemedy(info),
  };
}

/** The words that programs look for. */
const gvisorMissing = 'gVisor runtime not available';

function notAvailable({ kernel }: ContainerProfile): string {
  return kernel === 'guest' ? gvisorMissing : 'plain containers not available';
}

const desktopRemedies = {
  macOS:
    "Docker Desktop's virtual machine brings no runsc. Run the server on a Linux machine, or in a Linux virtual " +
    'machine with a Docker Engine of its own: its set-up installs runsc.',
  Windows:
    "Docker Desktop's virtual machine brings no runsc. Run the server on a Linux machine, or in a Linux virtual " +
    'machine or WSL 2 distribution with a Docker Engine of its own: its set-up installs runsc.',
  Linux:
    "Docker Desktop's virtual machine brings no runsc. Use the Docker Engine of this machine instead " +
    '(`docker context use default`): set-up installs runsc there.',
} as const;

const orRegister =
  'Where a runsc is on its file system, register it under Settings > Docker Engine: ' +
  '{"runtimes": {"runsc": {"path": "<path of runsc>"}}}.';

function missingRemedy(info: EngineInfo): string {
  const desktop = desktopOf(info);
  if (desktop) return `${desktopRemedies[desktop]} ${orRegister}`;
  return 'Run `emergent serve` as root: its set-up installs and registers runsc.';
}

function brokenRemedy(info: EngineInfo): string {
  return desktopOf(info)
    ? 'See the settings of the runtime under Settings > Docker Engine; a current runsc may help.'
    : '`emergent doctor` tells whether runsc fits this kernel; set-up can install one that does.';
}

function factsOf(info: EngineInfo, { runtime }: ContainerProfile): Record<string, unknown> {
  const desktop = desktopOf(info);
  return {
    engine: info.version,
    runtime: runtime ?? info.defaultRuntime ?? 'runc',
    storage: info.storageDriver,
    kernel: info.kernelVersion,
    ...(info.cgroupVersion !== undefined && { cgroup: info.cgroupVersion }),
    ...(desktop !== null && { docker_desktop: desktop }),
  };
}

function unhealthy(
  reason: string,
  remedy: string,
  details: Readonly<Record<string, unknown>>,
): ProviderHealth {
  return { state: 'unhealthy', reason, remedy, details };
}
