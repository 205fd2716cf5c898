import { z } from 'zod';
import { formatSize } from '../../domain/limits.ts';
import type { ProviderCapabilities } from '../../domain/provider.ts';
import type { ProviderStatus } from '../../domain/provider-status.ts';
import type { SelectionExplained, SelectionRequest } from '../../domain/selection.ts';
import { containerTypes, deploymentModes } from '../../domain/workspace.ts';
import { text, timestamp } from './text.ts';

const capabilities = z.object({
  isolation: z.enum(['microvm', 'gvisor', 'container', 'none']),
  persistence: z.boolean(),
  snapshots: z.boolean(),
  warm_pool: z.boolean(),
  processes: z.boolean().describe('Commands can be left running and come back to.'),
  terminals: z.boolean().describe('Commands can have a terminal.'),
  tools: z.boolean().describe('glob and grep work.'),
  requires: z.array(z.enum(['kvm', 'docker', 'network'])),
  startup_ms: z.number().nullable().describe('Median of the measured starts; null before one.'),
});

const provider = z
  .object({
    name: z.string(),
    status: z
      .enum(['healthy', 'unhealthy', 'absent'])
      .describe(
        'Absent: does not apply on this host or is not configured. Unhealthy: should work and does not.',
      ),
    reason: z.string().nullable(),
    remedy: z.string().nullable(),
    last_check: timestamp
      .nullable()
      .describe('Null: it has not answered yet, or is not configured.'),
    cooling_down: z
      .object({ until: timestamp, reason: z.string() })
      .nullable()
      .describe('It failed a create, and is passed over by automatic choices until then.'),
    active_workspaces: z.int(),
    available_resources: z
      .object({ cpu: z.number(), memory: z.string() })
      .nullable()
      .describe('Null where the provider cannot tell.'),
    capabilities: capabilities.nullable().describe('Null: it is not configured.'),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Provider' });

export const providerList = z.object({ providers: z.array(provider) }).meta({ id: 'ProviderList' });

export function presentProvider(from: ProviderStatus): z.output<typeof provider> {
  const { health } = from;
  const available = from.capabilities?.available ?? null;
  return {
    name: from.name,
    status: health.state,
    reason: health.state === 'healthy' ? null : health.reason,
    remedy: health.state === 'healthy' ? null : health.remedy,
    last_check: from.lastCheck?.toISOString() ?? null,
    cooling_down: from.coolingDown && {
      until: from.coolingDown.until.toISOString(),
      reason: from.coolingDown.reason,
    },
    active_workspaces: from.activeWorkspaces,
    available_resources: available && {
      cpu: available.cpu,
      memory: formatSize(available.memoryBytes),
    },
    capabilities: from.capabilities && presentCapabilities(from.capabilities),
    details: health.details,
  };
}

function presentCapabilities(from: ProviderCapabilities): z.output<typeof capabilities> {
  const { features } = from;
  return {
    isolation: from.isolation,
    persistence: features.persistence,
    snapshots: features.snapshots,
    warm_pool: features.warmPool,
    processes: features.processes,
    terminals: features.terminals,
    tools: features.tools,
    requires: [...from.requires],
    startup_ms: from.startupMs,
  };
}

export const selectionQuery = z.strictObject({
  container_type: z.enum(containerTypes).default('agent_workspace'),
  deployment_mode: z.enum(deploymentModes).optional().describe("Otherwise the server's own."),
  provider: text(64).default('auto').describe('A provider by name, or "auto".'),
});

export const selection = z
  .object({
    provider: z.string().describe('"auto", or the one asked for by name, which nothing replaces.'),
    container_type: z.enum(containerTypes),
    deployment_mode: z.enum(deploymentModes),
    order: z
      .array(z.object({ name: z.string(), why: z.string() }))
      .describe('Tried from the front; empty: a create would fail with 503.'),
    left_out: z.array(z.object({ name: z.string(), reason: z.string() })),
  })
  .meta({ id: 'Selection' });

export function toSelectionRequest(query: z.output<typeof selectionQuery>): SelectionRequest {
  return {
    provider: query.provider,
    containerType: query.container_type,
    ...(query.deployment_mode && { deploymentMode: query.deployment_mode }),
  };
}

export function presentSelection(from: SelectionExplained): z.output<typeof selection> {
  return {
    provider: from.provider,
    container_type: from.containerType,
    deployment_mode: from.deploymentMode,
    order: from.order.map(({ name, why }) => ({ name, why })),
    left_out: from.leftOut.map(({ name, reason }) => ({ name, reason })),
  };
}
