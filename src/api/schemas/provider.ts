import { z } from 'zod';
import { formatSize } from '../../domain/limits.ts';
import type { ProviderStatus } from '../../domain/provider-status.ts';
import { timestamp } from './text.ts';

const provider = z
  .object({
    name: z.string(),
    status: z
      .enum(['healthy', 'unhealthy', 'absent'])
      .describe('Absent: does not apply on this host. Unhealthy: should work and does not.'),
    reason: z.string().nullable(),
    remedy: z.string().nullable(),
    last_check: timestamp,
    active_workspaces: z.int(),
    available_resources: z
      .object({ cpu: z.number(), memory: z.string() })
      .nullable()
      .describe('Null where the provider cannot tell.'),
    capabilities: z.object({
      isolation: z.enum(['microvm', 'gvisor', 'container', 'none']),
      persistence: z.boolean(),
      snapshots: z.boolean(),
      warm_pool: z.boolean(),
      processes: z.boolean().describe('Commands can be left running and come back to.'),
      terminals: z.boolean().describe('Commands can have a terminal.'),
      tools: z.boolean().describe('glob and grep work.'),
      requires: z.array(z.enum(['kvm', 'docker', 'network'])),
      startup_ms: z.number().nullable().describe('Median of the measured starts; null before one.'),
    }),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Provider' });

export const providerList = z.object({ providers: z.array(provider) }).meta({ id: 'ProviderList' });

export function presentProvider(from: ProviderStatus): z.output<typeof provider> {
  const { health, capabilities } = from;
  const { available } = capabilities;
  return {
    name: from.name,
    status: health.state,
    reason: health.state === 'healthy' ? null : health.reason,
    remedy: health.state === 'healthy' ? null : health.remedy,
    last_check: from.lastCheck.toISOString(),
    active_workspaces: from.activeWorkspaces,
    available_resources: available && {
      cpu: available.cpu,
      memory: formatSize(available.memoryBytes),
    },
    capabilities: {
      isolation: capabilities.isolation,
      persistence: capabilities.features.persistence,
      snapshots: capabilities.features.snapshots,
      warm_pool: capabilities.features.warmPool,
      processes: capabilities.features.processes,
      terminals: capabilities.features.terminals,
      tools: capabilities.features.tools,
      requires: [...capabilities.requires],
      startup_ms: capabilities.startupMs,
    },
    details: health.details,
  };
}
