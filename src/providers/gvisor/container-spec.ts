import type Docker from 'dockerode';
import type { SandboxSpec } from '../../domain/provider.ts';

/** What is the same for every container of this server. */
export interface ContainerSettings {
  readonly installationId: string;
  /** The OCI runtime's name as the engine knows it. */
  readonly runtime: string;
  readonly agentVolume: string;
  readonly natNetwork: string;
  readonly nameservers: readonly string[];
}

export const agentMount = '/.emergent';
export const agentPath = `${agentMount}/agent`;
export const workspaceMount = '/workspace';

export const labels = {
  installation: 'dev.emergent.installation',
  workspace: 'dev.emergent.workspace',
  /** The container's name, also on the volume: it may be all that is left. */
  sandbox: 'dev.emergent.sandbox',
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

export function workspaceLabels(installationId: string, spec: SandboxSpec): Record<string, string> {
  return {
    [labels.installation]: installationId,
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

/** Processes in the guest. */
const maxProcesses = 4_096;
/** The engine's pids limit counts the sentry's own threads and kills the whole sandbox, so it stays far away. */
const enginePidsLimit = 32_768;

/** The engine's request for one workspace. Pure, so that every flag can be checked without an engine. */
export function containerOptions(
  spec: SandboxSpec,
  settings: ContainerSettings,
  tokenHash: string,
): Docker.ContainerCreateOptions {
  return {
    name: spec.sandboxName,
    Hostname: spec.workspaceId.slice(0, 8),
    Image: spec.image,
    User: '0:0',
    WorkingDir: workspaceMount,
    Entrypoint: [agentPath, 'init'],
    Cmd: [],
    Env: environment(spec, settings, tokenHash),
    Labels: workspaceLabels(settings.installationId, spec),
    HostConfig: {
      Runtime: settings.runtime,
      NanoCpus: Math.round(spec.limits.cpu * 1e9),
      Memory: spec.limits.memoryBytes,
      MemorySwap: spec.limits.memoryBytes,
      PidsLimit: enginePidsLimit,
      Ulimits: [{ Name: 'nproc', Soft: maxProcesses, Hard: maxProcesses }],
      CapDrop: ['ALL'],
      CapAdd: capabilities,
      SecurityOpt: ['no-new-privileges'],
      NetworkMode: spec.network === 'nat' ? settings.natNetwork : 'none',
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '1' } },
      Mounts: [
        { Type: 'volume', Source: volumeName(spec.workspaceId), Target: workspaceMount },
        { Type: 'volume', Source: settings.agentVolume, Target: agentMount, ReadOnly: true },
      ],
    },
  };
}

/** Names that belong to the agent: a caller's would set it up differently, and no command sees them. */
const agentPrefix = 'EMERGENT_';

function environment(spec: SandboxSpec, settings: ContainerSettings, tokenHash: string): string[] {
  const own: Record<string, string> = {
    EMERGENT_TOKEN_SHA256: tokenHash,
    EMERGENT_WORKDIR: workspaceMount,
  };
  if (spec.network === 'nat' && settings.nameservers.length > 0) {
    // The engine's embedded DNS does not work under runsc on custom networks: the agent writes resolv.conf.
    own['EMERGENT_NAMESERVERS'] = settings.nameservers.join(',');
  }
  const given = Object.entries(spec.env).filter(([name]) => !name.startsWith(agentPrefix));
  return [...given, ...Object.entries(own)].map(([name, value]) => `${name}=${value}`);
}
