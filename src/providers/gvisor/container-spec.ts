import { createHash } from 'node:crypto';
import type Docker from 'dockerode';
import type { SandboxSpec } from '../../domain/provider.ts';
import { containerBounds } from './container-bounds.ts';
import { gvisorName } from './container-profile.ts';
import type { ContainerProfile } from './container-profile.ts';
import type { ImageFacts } from './images/image-facts.ts';
import { programLabel, programText } from './program-label.ts';

/** What is the same for every container of this server. */
export interface ContainerSettings {
  readonly installationId: string;
  readonly profile: ContainerProfile;
  readonly agentVolume: string;
  readonly natNetwork: string;
  readonly nameservers: readonly string[];
}

export const agentMount = '/.emergent';
export const agentPath = `${agentMount}/agent`;
/** The agent's exit code when the image names a user that it does not have; guest/main.go has it too. */
export const agentKnowsNoUser = 4;
export const workspaceMount = '/workspace';

export const labels = {
  installation: 'dev.emergent.installation',
  workspace: 'dev.emergent.workspace',
  /** The container's name, also on the volume: it may be all that is left. */
  sandbox: 'dev.emergent.sandbox',
  /** The provider that it belongs to; `providerOf` reads it. */
  provider: 'dev.emergent.provider',
  kind: 'dev.emergent.kind',
} as const;

/** The kinds of what is not a workspace's. */
export const kinds = {
  agentVolume: 'agent',
  /** A container that is never started, to reach into the agent volume. */
  agentVolumeHolder: 'agent-volume',
  probe: 'probe',
  network: 'network',
} as const;

export function volumeName(workspaceId: string): string {
  return `agent-workspace-${workspaceId}`;
}

/** Of a volume besides /workspace. */
export function furtherVolumeName(workspaceId: string, path: string): string {
  return `${volumeName(workspaceId)}-${volumeKey(path)}`;
}

/** Stands for a path of a sandbox where slashes and such cannot be. */
export function volumeKey(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 12);
}

export function providerOf(found: Readonly<Record<string, string>>): string {
  return found[labels.provider] ?? gvisorName;
}

export function workspaceLabels(
  installationId: string,
  provider: string,
  spec: SandboxSpec,
): Record<string, string> {
  return {
    [labels.installation]: installationId,
    [labels.provider]: provider,
    [labels.workspace]: spec.workspaceId,
    [labels.sandbox]: spec.sandboxName,
    [labels.kind]: spec.containerType,
  };
}

/** What root in a sandbox needs to install packages and to run as another user; nothing more. */
const capabilities = [
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'SETGID',
  'SETUID',
  'SYS_CHROOT',
];

/** The engine's pids limit counts the sentry's own threads and kills the whole sandbox, so it stays far away. */
const distantPidsLimit = 32_768;

/** The engine's request for one workspace. Pure, so that every flag can be checked without an engine. */
export function containerOptions(
  spec: SandboxSpec,
  image: Omit<ImageFacts, 'id'>,
  settings: ContainerSettings,
  tokenHash: string,
): Docker.ContainerCreateOptions {
  const { profile } = settings;
  const bounds = containerBounds(spec.limits, profile);
  return {
    name: spec.sandboxName,
    Hostname: spec.workspaceId.slice(0, 8),
    Image: spec.image,
    User: '0:0',
    WorkingDir: workspaceMount,
    Entrypoint: [agentPath, 'init'],
    Cmd: [],
    // What an image says about the program that it is made for does not hold for the agent.
    Healthcheck: { Test: ['NONE'] },
    StopSignal: 'SIGTERM',
    Env: environment(spec, image, settings, tokenHash),
    Labels: {
      ...workspaceLabels(settings.installationId, profile.provider, spec),
      [programLabel]: programText(image.program),
    },
    HostConfig: {
      ...(profile.runtime !== undefined && { Runtime: profile.runtime }),
      NanoCpus: Math.round(spec.limits.cpu * 1e9),
      Memory: bounds.engineMemoryBytes,
      MemorySwap: bounds.engineMemoryBytes,
      ShmSize: bounds.shmBytes,
      // Programs are built and run there, which the engine forbids unless told.
      Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,mode=1777,size=${String(bounds.tmpBytes)}` },
      ...processBounds(profile, bounds.maxProcesses),
      CapDrop: ['ALL'],
      CapAdd: capabilities,
      SecurityOpt: ['no-new-privileges'],
      NetworkMode: spec.network === 'nat' ? settings.natNetwork : 'none',
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '1' } },
      Mounts: [
        { Type: 'volume', Source: volumeName(spec.workspaceId), Target: workspaceMount },
        ...(spec.volumes ?? []).map((path) => volumeMount(spec.workspaceId, path)),
        { Type: 'volume', Source: settings.agentVolume, Target: agentMount, ReadOnly: true },
      ],
    },
  };
}

/** What the image has at that path is copied into a volume that is empty: the engine does that unless told. */
function volumeMount(workspaceId: string, path: string): Docker.MountSettings {
  return { Type: 'volume', Source: furtherVolumeName(workspaceId, path), Target: path };
}

/** A host's kernel counts `nproc` per user over all containers, and not at all for root. */
function processBounds(profile: ContainerProfile, most: number): Docker.HostConfig {
  if (profile.kernel === 'host') return { PidsLimit: most };
  return { PidsLimit: distantPidsLimit, Ulimits: [{ Name: 'nproc', Soft: most, Hard: most }] };
}

/** Names that belong to the agent: a caller's would set it up differently, and no command sees them. */
const agentPrefix = 'EMERGENT_';

function environment(
  spec: SandboxSpec,
  image: Omit<ImageFacts, 'id'>,
  settings: ContainerSettings,
  tokenHash: string,
): string[] {
  const own: Record<string, string> = {
    EMERGENT_TOKEN_SHA256: tokenHash,
    EMERGENT_MEMORY_LIMIT: String(spec.limits.memoryBytes),
    EMERGENT_WORKDIR: workspaceMount,
    // The agent itself is root; what it starts and writes is the image's user's.
    EMERGENT_USER: image.user,
    // The runtime gives the agent root's home.
    EMERGENT_OWN_HOME: String(!image.setsHome && spec.env['HOME'] === undefined),
  };
  // The engine makes them as root.
  if (spec.volumes?.length) own['EMERGENT_VOLUMES'] = JSON.stringify(spec.volumes);
  // The memory that a shared kernel tells of is the host's.
  if (settings.profile.kernel === 'host') own['EMERGENT_MEMORY_USAGE'] = 'cgroup';
  if (spec.network === 'nat' && settings.nameservers.length > 0) {
    // The engine's embedded DNS does not work under runsc on custom networks: the agent writes resolv.conf.
    own['EMERGENT_NAMESERVERS'] = settings.nameservers.join(',');
  }
  const given = Object.entries(spec.env).filter(([name]) => !name.startsWith(agentPrefix));
  return [...given, ...Object.entries(own)].map(([name, value]) => `${name}=${value}`);
}
